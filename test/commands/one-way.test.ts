import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { access, appendFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { lockFile } from '../../src/files/file-lock.ts'
import type { FileSystem } from '../../src/files/file-system.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { IMPORT_BYTES_MAX } from '../../src/limits.ts'
import { runCommand } from '../support/command.ts'
import { createFailingFiles, systemError } from '../support/failing-files.ts'
import { hurryClock } from '../support/hurried-clock.ts'
import { start, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { photographBook } from './photograph.ts'

const HOSTS = 'name,hostname,port,username\nimported,i.example,22,ops\n'

/** Lines of a session, with the standard input of each. */
const session: readonly (readonly [line: string, input?: string])[] = [
  ['add web1 deploy@192.0.2.10:22 --label env=prod'],
  ['add web1 deploy@192.0.2.10:22'],
  ['add db1 --hostname db1.example --port 99999 --username app'],
  ['ls'],
  ['ls --json --label env=prod'],
  ['ls --where port=ssh'],
  ['get web1'],
  ['get web1 --field port'],
  ['get nobody'],
  ['set web1 --port 2222 --reason moved'],
  ['set web1 --port 22 --if-match stale'],
  ['set nobody --port 22'],
  ['set web2 --create --hostname web2 --port 22 --username deploy'],
  ['set --where label=env=prod --label env=test --dry-run'],
  ['set --where label=env=prod --label env=test --yes'],
  ['revert web1 --dry-run'],
  ['revert web1 --yes'],
  ['revert web1 --steps 9 --yes'],
  ['rm web2'],
  ['rm web2'],
  ['rm - --where all=1'],
  ['revert web2 --yes'],
  ['import - --format csv --dry-run', HOSTS],
  ['import - --format csv', HOSTS],
  ['import - --format csv', HOSTS],
  ['import - --format csv', `${HOSTS}bad,,0,\n`],
  ['export --format json'],
  ['export --format ssh-config --label env=prod'],
  ['inventory --list'],
  ['inventory --host web1'],
  ['user add eve --read-only', 'a long secret'],
  ['user add eve', 'a long secret'],
  ['user set eve --read-write'],
  ['user passwd eve', 'another long secret'],
  ['user list'],
  ['user remove eve'],
  ['user remove eve'],
  ['client add ci --secret-stdin', 'chosen-secret-of-ci'],
  ['client set ci --grant read?prefix=web'],
  ['client rotate nobody'],
  ['client list'],
  ['client remove ci'],
  ['whoami'],
  ['history web1'],
  ['history'],
]

/** What differs between two runs of the same session. */
function withoutMoments(text: string, folder: string): string {
  return text
    .replaceAll(folder, 'FOLDER')
    .replaceAll(/\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g, 'TIME')
    .replaceAll(/\b[0-9a-f]{8}-(\d+)\b/g, 'TAG-$1')
}

async function runSession(t: TestContext, isServed: boolean) {
  const folder = await usedFolder(t)
  if (isServed) await start(t, { folder, environment: {} })
  const said: string[] = []
  for (const [line, input = ''] of session) {
    const { code, stdout, stderr } = await runCommand([...line.split(' '), '--data', folder], { input })
    said.push(withoutMoments(`${line}\n${code}\n${stdout}${stderr}`, folder))
  }
  return said
}

const lines = [
  ['ls'],
  ['get web1'],
  ['set web1 --port 22'],
  ['set web1 --create --hostname h --port 22 --username u'],
  ['rm web1'],
  ['add web1 u@h:22'],
  ['history'],
  ['history web1'],
  ['revert web1 --yes'],
  ['export --format csv'],
  ['import - --format csv', HOSTS],
  ['inventory --list'],
  ['user list'],
  ['user add eve', 'a long secret'],
  ['user passwd admin', 'a long secret'],
  ['user set admin --read-write'],
  ['user remove admin'],
  ['client list'],
  ['client add ci'],
  ['client rotate script'],
  ['whoami'],
] as const
const making = /^(?:add|import|user add|client add|set web1 --create)/

const runLine = ([line, input = '']: readonly [line: string, input?: string], folder: string) =>
  runCommand([...line.split(' '), '--data', folder], { input })

describe('a command that works on a book', () => {
  it('prints the same with the server of its folder running or stopped', async (t) => {
    const [beside, alone] = [await runSession(t, true), await runSession(t, false)]
    assert.deepEqual(alone, beside)
    const codes = beside.map((text) => Number(text.split('\n')[1]))
    assert.deepEqual([...new Set(codes)].sort(), [0, 1, 2, 3, 4])
  })

  it('makes a folder that is missing only if it adds something, and --data names it', async (t) => {
    for (const words of lines) {
      const parent = await temporaryFolder(t)
      const folder = join(parent, 'data')
      const { code, stderr } = await runLine(words, folder)
      const isMaking = making.test(words[0])
      assert.equal(code, isMaking ? 0 : 1, `${words[0]}: ${stderr}`)
      assert.equal(
        stderr.startsWith(
          isMaking ? 'connbook: Made the data folder' : 'connbook: Cannot find anything of connbook in',
        ),
        true,
        stderr,
      )
      assert.deepEqual(await readdir(parent), isMaking ? ['data'] : [])
      const deep = await runLine(words, join(parent, 'no', 'chain'))
      assert.deepEqual([deep.code, deep.stderr.includes('Cannot find anything of connbook')], [1, true])
      await assert.rejects(access(join(parent, 'no')), { code: 'ENOENT' })
    }
  })

  it('cuts the torn tail of a journal, and keeps it aside', async (t) => {
    const folder = await usedFolder(t)
    assert.equal((await runLine(['add web1 u@h:22'], folder)).code, 0)
    const journal = join(folder, dataFiles.journal)
    const whole = await readFile(journal, 'utf8')
    await appendFile(journal, '0123abcd 99 2 [{"add":')
    const { code, stdout, stderr } = await runLine(['ls --names'], folder)
    assert.deepEqual([code, stdout], [0, 'web1\n'], stderr)
    assert.equal(await readFile(journal, 'utf8'), whole)
    assert.equal((await readdir(folder)).filter((name) => name.startsWith('journal.torn-')).length, 1)
    assert.equal((await runLine(['check'], folder)).code, 0)
  })

  it('ends with 65 for a damaged folder, and writes nothing there', async (t) => {
    const folder = await usedFolder(t)
    for (const name of ['web1', 'web2']) assert.equal((await runLine([`add ${name} u@h:22`], folder)).code, 0)
    const journal = join(folder, dataFiles.journal)
    await writeFile(journal, (await readFile(journal, 'utf8')).replace('web1', 'web9'))
    const before = await photographBook(folder)
    for (const words of lines) {
      const { code, stdout, stderr } = await runLine(words, folder)
      assert.deepEqual([code, stdout], [65, ''], `${words[0]}: ${stderr}`)
      assert.match(stderr, /journal\.jsonl": .* at byte \d+; /)
    }
    assert.deepEqual(await photographBook(folder), before)
  })

  it('ends with 75 once it has waited for another process, and changes nothing', async (t) => {
    const folder = await usedFolder(t)
    const held = await openDataFolder(folder)
    t.after(() => held.release())
    const before = await photographBook(folder)
    hurryClock(t)
    for (const words of lines) {
      const { code, stdout, stderr } = await runLine(words, folder)
      assert.deepEqual([code, stdout], [75, ''], `${words[0]}: ${stderr}`)
      assert.ok(stderr.includes(`"${folder}": another process has it (pid ${process.pid}, `), stderr)
      assert.match(stderr, /\nif a server has it, name that in place of --data: --server URL/)
    }
    assert.deepEqual(await photographBook(folder), before)
  })

  const without: Record<string, (t: TestContext, folder: string) => Promise<unknown>> = {
    'on a file system without sockets': (t, folder) => {
      const files = { ...createFailingFiles(), reach: () => Promise.reject(systemError('ENOTSUP')) }
      return start(t, { folder, environment: {}, files: files as FileSystem })
    },
    'on Windows': async (t, folder) => {
      const { platform } = process
      Object.defineProperty(process, 'platform', { value: 'win32' })
      const started = start(t, { folder, environment: {} })
      await started.finally(() => Object.defineProperty(process, 'platform', { value: platform }))
    },
  }
  for (const [where, startThere] of Object.entries(without)) {
    it(`ends with 75, and says --server, beside a server that has no socket ${where}`, async (t) => {
      const folder = await usedFolder(t)
      await startThere(t, folder)
      assert.ok(!(await readdir(folder)).includes('.control'))
      hurryClock(t)
      for (const words of lines) {
        const { code, stdout, stderr } = await runLine(words, folder)
        assert.deepEqual([code, stdout], [75, ''], `${words[0]}: ${stderr}`)
        assert.match(
          stderr,
          /another process has it \(pid .+\nif a server has it, .+: --server URL or unix:PATH/s,
        )
      }
    })
  }

  it('waits for another command on a stopped folder, so that all are done', async (t) => {
    // No command gives up, however busy the machine is.
    t.mock.method(performance, 'now', () => 0)
    const folder = await usedFolder(t)
    const names = ['a', 'b', 'c', 'd']
    const added = names.map((name) => runLine([`add ${name} u@h:22`], folder))
    const client = runLine(['client add ci'], folder)
    for (const { code, stderr } of await Promise.all([...added, client])) assert.equal(code, 0, stderr)
    assert.equal((await runLine(['ls --names --sort name'], folder)).stdout, 'a\nb\nc\nd\n')
    assert.equal((await runLine(['client list'], folder)).stdout, 'ci\nscript\n')
  })
})

describe('a command without a server', () => {
  it('has let go of the folder before it prints, however long the reader takes', async (t) => {
    const folder = await usedFolder(t)
    assert.equal((await runCommand(['add', 'web1', 'deploy@192.0.2.10', '--data', folder])).code, 0)
    for (const words of ['get web1', 'ls', 'export --format json', 'user list', 'keys list', 'keys rotate']) {
      let isFree = false
      const { code, stderr } = await runCommand([...words.split(' '), '--data', folder], {
        onOutput() {
          // At once: to wait would give the command time.
          const lock = lockFile(join(folder, dataFiles.lock))
          isFree = lock !== undefined
          lock?.release()
        },
      })
      assert.deepEqual([code, isFree], [0, true], `${words}: ${stderr}`)
    }
  })

  it('imports a file that is longer than a server takes', async (t) => {
    const folder = await usedFolder(t)
    const row = `,h.example,22,ops,${'x'.repeat(16_000)}\n`
    const rows = Array.from({ length: Math.ceil(IMPORT_BYTES_MAX / row.length) }, (_, i) => `web${i}${row}`)
    const input = `name,hostname,port,username,note\n${rows.join('')}`
    const words = ['import', '-', '--format', 'csv', '--extra', 'ignore', '--data', folder]
    const { code, stderr } = await runCommand(words, { input })
    assert.equal(code, 0, stderr)
  })
})
