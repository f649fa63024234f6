import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getAsset, isSea } from 'node:sea'

/** A chapter of the manual; its text is `NAME.md` beside this file. */
export interface Chapter {
  readonly name: string
  /** What it tells, for lists of chapters. */
  readonly summary: string
}

/** Every chapter, in the order of the manual. */
export const chapters: readonly Chapter[] = [
  { name: 'start', summary: 'install it, start it, first records with curl' },
  { name: 'accounts', summary: 'users and clients, passwords, read-only accounts' },
  { name: 'interface', summary: 'every call: requests, answers, fields, errors' },
  { name: 'lists', summary: 'sort, page and count' },
  { name: 'conditions', summary: 'ETag: read only what is new, change only what you have seen' },
  { name: 'exchange', summary: 'export for ssh, Ansible, psql and shells; import many' },
  { name: 'backup', summary: 'back up, restore, check' },
  { name: 'https', summary: 'certificates, and how they are renewed' },
  { name: 'systemd', summary: 'as a service, also with a socket' },
  { name: 'container', summary: 'Docker, Podman, Kubernetes' },
  { name: 'proxy', summary: 'behind nginx, HAProxy or Caddy' },
  { name: 'metrics', summary: 'Prometheus, health checks, alerts' },
  { name: 'audit', summary: 'who did what, and fail2ban' },
  { name: 'log', summary: 'its form, and every event' },
  { name: 'keys', summary: 'the keys that sign: rotate them, end every session' },
  { name: 'files', summary: 'the data folder, file by file' },
  { name: 'options', summary: 'every flag and variable of the server, and exit codes' },
  { name: 'promises', summary: 'what is kept through a crash or a full disk, and what is not' },
  { name: 'security', summary: 'who is trusted with what, and what is guarded' },
  { name: 'troubles', summary: 'locked out, disk full, damaged folder, and what surprises' },
]

export function findChapter(name: string): Chapter | undefined {
  return chapters.find((chapter) => chapter.name === name)
}

/** The text of a chapter, as Markdown. */
export function readChapter({ name }: Chapter): string {
  const file = `${name}.md`
  // The build puts the texts into the executable.
  return isSea() ? getAsset(file, 'utf8') : readFileSync(join(import.meta.dirname, file), 'utf8')
}
