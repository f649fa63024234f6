import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parts } from '../built.ts'

/** A chapter of the manual; its text is `NAME.md` beside this file. */
export interface Chapter {
  readonly name: string
  /** What it is about, for lists of chapters. */
  readonly summary: string
}

/** Every chapter, in the order of the manual. */
export const chapters: readonly Chapter[] = [
  { name: 'start', summary: 'install it, start it, first records with curl' },
  { name: 'accounts', summary: 'users, clients, admins; passwords; which records each one sees' },
  { name: 'interface', summary: 'every call: requests, answers, fields, errors' },
  { name: 'oauth', summary: 'tokens for scripts: scopes, revocation, metadata, libraries' },
  { name: 'labels', summary: 'say more about a record: environment, group' },
  { name: 'lists', summary: 'sort, page and count' },
  { name: 'search', summary: 'find records by text, prefix or value' },
  { name: 'many', summary: 'change or delete all records that a filter keeps' },
  { name: 'conditions', summary: 'ETag: read only what is new, change only what you have seen' },
  { name: 'follow', summary: 'wait for changes, read them as events' },
  { name: 'history', summary: 'what happened to a record, and who did it' },
  { name: 'import', summary: 'add many records from CSV, SSH, Ansible or PostgreSQL files' },
  { name: 'export', summary: 'files for ssh, Ansible, psql, Prometheus and shells' },
  { name: 'recipes', summary: 'ssh, Ansible, PuTTY, Remmina, Prometheus, cron; change many' },
  { name: 'openapi', summary: 'a description of every call, from which tools make clients' },
  { name: 'commands', summary: 'records from the command line: ls, get, set, ssh, watch' },
  { name: 'shell', summary: 'the Tab key in bash, zsh and fish; man pages' },
  { name: 'console', summary: 'the page for browsers: where it is, how to leave it out' },
  { name: 'backup', summary: 'back up, restore, check, upgrade' },
  { name: 'https', summary: 'certificates and their renewal' },
  { name: 'debian', summary: 'the package: install, configure, upgrade, remove' },
  { name: 'node', summary: 'connbook.cjs, for Alpine, FreeBSD and others that have Node' },
  { name: 'systemd', summary: 'run it as a service, also with a socket' },
  { name: 'container', summary: 'run it in Docker, Podman or Kubernetes' },
  { name: 'proxy', summary: 'run it behind nginx, HAProxy or Caddy' },
  { name: 'cluster', summary: 'the same records on many hosts, in etcd' },
  { name: 'metrics', summary: 'Prometheus, health checks, alerts' },
  { name: 'audit', summary: 'who did what, and fail2ban' },
  { name: 'log', summary: 'format and level of the log, and every event' },
  { name: 'keys', summary: 'rotate the signing keys, end every session' },
  { name: 'files', summary: 'the data folder, file by file' },
  { name: 'options', summary: 'every flag and variable of the server, and exit codes' },
  { name: 'promises', summary: 'what a crash or a full disk cannot destroy, and what it can' },
  { name: 'security', summary: 'who may do what, and what connbook defends against' },
  { name: 'troubles', summary: 'locked out, disk full, damaged folder, and what surprises' },
]

export function findChapter(name: string): Chapter | undefined {
  return chapters.find((chapter) => chapter.name === name)
}

/** The text of a chapter, as Markdown. */
export function readChapter({ name }: Chapter): string {
  const file = `${name}.md`
  return parts?.text(file) ?? readFileSync(join(import.meta.dirname, file), 'utf8')
}
