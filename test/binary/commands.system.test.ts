import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { renderMarkdown } from '../../src/command-line/markdown.ts'
import { commands } from '../../src/commands/commands.ts'
import { chapters, findChapter, readChapter } from '../../src/manual/chapters.ts'
import { runCommand } from '../support/command.ts'
import { runExecutable, startExecutable, toFullDevice, toNobody } from '../support/executable.ts'
import { plainStyle } from '../support/plain-style.ts'
import { admin, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = await usedFolder({ after })
const place = await temporaryFolder({ after })
const backup = join(place, 'backup.json')
const csv = join(place, 'hosts.csv')
await writeFile(csv, 'name,hostname,port,username\na,a.example,22,u\n')

/** One valid command line for each command, ordered so that each finds what it needs. */
const lines: Record<string, readonly [words: string, stdout: RegExp, input?: string, stderr?: RegExp]> = {
  'user add': ['user add eve', /^$/, 'a secret\n', /^Added user "eve" in /],
  'user passwd': ['user passwd eve', /^$/, 'another one\n', /^Changed the password of user "eve" in /],
  'user list': ['user list', /^admin\tadmin\neve\n$/],
  'user set': ['user set eve --read-only', /^$/, '', /^User "eve" in .+ is read-only from now on\n$/],
  'user remove': ['user remove eve', /^$/, '', /^Removed user "eve" in /],
  'client add': [
    'client add ci',
    /^client_id: ci\nclient_secret: \w{43}\n$/,
    '',
    /^Added client "ci" in .+\n$/,
  ],
  'client rotate': [
    'client rotate ci',
    /\nclient_secret: \w{43}\n$/,
    '',
    /^Changed the secret of client "ci" in /,
  ],
  'client set': ['client set ci --read-write', /^$/, '', /^Client "ci" in .+ can read and change records /],
  'client list': ['client list', /^ci\nscript\n$/],
  'client remove': ['client remove ci', /^$/, '', /^Removed client "ci" in /],
  'keys rotate': ['keys rotate', /^Rotated the keys in /],
  'keys revoke-all': ['keys revoke-all', /^Replaced the keys in /],
  'keys list': ['keys list', /^\w+ {2}since .+ {2}signs\n/],
  import: [`import ${csv}`, /^$/, '', /^Imported to .+: 1 added, 0 modified, 0 removed, 0 unchanged\n$/],
  export: ['export --format csv', /^name,hostname,port,username\r\na,a\.example,22,u\r\n$/],
  inventory: ['inventory --list', /^\{"_meta":\{"hostvars":\{"a":\{"ansible_host":"a\.example"/],
  backup: [`backup ${backup}`, /^Kept 1 record and 2 accounts of /],
  restore: [`restore ${backup}`, /^Restored 1 record and 2 accounts to /],
  check: ['check', /\nThe folder is sound\n$/],
  recover: ['recover', /^The folder is sound: there is nothing to recover\n$/],
  systemd: ['systemd', /^\[Unit\]\n/],
}

/** Commands without --data. */
const others: Record<string, readonly [words: string, stdout: RegExp]> = {
  openapi: ['openapi', /^\{"openapi":"3\.1\.1",.*\}\n$/],
  completion: ['completion bash', /^# bash completion of connbook/],
  man: ['man backup', /^\.TH "CONNBOOK\\-BACKUP" 1 /],
  version: ['version', /^connbook \d/],
  help: ['help user list', /^connbook user list \[FLAGS\]\n/],
}

/** Commands that call a server, ordered so that each finds what it needs; `URL` stands for its own. */
const calls: Record<string, readonly [words: string, stdout: RegExp, stderr: RegExp, input?: string]> = {
  login: ['login URL --user admin', /^$/, /^Logged in as admin at http:/, `${admin.password}\n`],
  whoami: ['whoami', /^server\thttp:.*\naccount\tadmin\n/, /^$/],
  add: ['add b --hostname b.example --port 22 --username u', /^$/, /^Added "b" at http:/],
  set: ['set b --port 23', /^$/, /^Set "b" at http:/],
  get: ['get b --field port', /^23\n$/, /^$/],
  ls: ['ls b', /^b\tb\.example\t23\tu\n$/, /^$/],
  ssh: ['ssh --print b', /^ssh -p 23 -l u b\.example\n$/, /^$/],
  history: ['history b --limit 1', /\tmodified\tadmin\t/, /^$/],
  revert: ['revert b --yes', /^$/, /^Put "b" back at http:/],
  rm: ['rm b', /^$/, /^Deleted "b" at http:/],
  logout: ['logout', /^$/, /^Logged out at http:/],
}

describe('the executable', () => {
  for (const [name, [words, stdout, input = '', stderr = /^$/]] of Object.entries(lines)) {
    it(`runs ${name}`, async () => {
      const finished = await runExecutable([...words.split(' '), '--data', folder], { input })
      assert.equal(finished.code, 0, finished.stderr)
      assert.match(finished.stderr, stderr)
      assert.match(finished.stdout, stdout)
    })
  }

  for (const [name, [words, stdout]] of Object.entries(others)) {
    it(`runs ${name}`, async () => {
      const finished = await runExecutable(words.split(' '))
      assert.deepEqual([finished.code, finished.stderr], [0, ''])
      assert.match(finished.stdout, stdout)
    })
  }

  it('has each chapter, and a page of each chapter and command', async (t) => {
    const [written, expected] = [await temporaryFolder(t), await temporaryFolder(t)]
    assert.equal((await runExecutable(['man', '--write', written])).code, 0)
    assert.equal((await runCommand(['man', '--write', expected])).code, 0)
    const families = new Set(commands.map(({ name }) => name.split(' ')[0]))
    for (const [section, least] of [
      ['man1', families.size],
      ['man7', chapters.length],
    ] as const) {
      const pages = await readdir(join(expected, section))
      assert.ok(pages.length >= least)
      assert.deepEqual((await readdir(join(written, section))).sort(), pages.sort())
      for (const page of pages) {
        const [made, right] = [written, expected].map((place) => readFile(join(place, section, page), 'utf8'))
        assert.equal(await made, await right, page)
      }
    }
    const start = findChapter('start') ?? assert.fail('no chapter')
    const { code, stdout, stderr } = await runExecutable(['help', 'start'])
    assert.deepEqual([code, stderr], [0, ''])
    assert.ok(stdout.endsWith(renderMarkdown(readChapter(start), plainStyle)))
  })

  it('runs serve, and the commands that call it', async (t) => {
    const { url, stop } = await startExecutable(t, ['--data', folder])
    const { code, stdout } = await runExecutable(['healthcheck', url])
    assert.deepEqual([code, stdout], [0, `${url}/readyz answers 200\n`])
    const environment = { XDG_STATE_HOME: place }
    for (const [name, [words, output, errors, input = '']] of Object.entries(calls)) {
      const finished = await runExecutable(words.replace('URL', url).split(' '), { input, environment })
      assert.equal(finished.code, 0, `${name}: ${finished.stderr}`)
      assert.match(finished.stdout, output)
      assert.match(finished.stderr, errors)
    }
    assert.equal(await stop(), 0)
  })

  it('has no command that this suite leaves out', () => {
    // It has no end: test/commands/remote/terminal.system.test.ts tries it.
    const endless = ['watch']
    const tables = [lines, others, calls].flatMap((table) => Object.keys(table))
    // It needs a cluster: test/cluster/upgrade.system.test.ts tries it.
    const tried = [...tables, ...endless, 'serve', 'healthcheck', 'cluster upgrade']
    assert.deepEqual(commands.map(({ name }) => name).sort(), tried.sort())
  })

  for (const [what, through] of Object.entries({ 'is full': toFullDevice, 'has no reader': toNobody })) {
    it(`reports a standard output that ${what}`, async () => {
      const { code, stderr } = await runExecutable(['backup', '-', '--data', folder], { through })
      assert.equal(code, 1)
      assert.match(stderr, /^connbook: Cannot write the backup to standard output \((ENOSPC|EPIPE)\); /)
    })
  }
})
