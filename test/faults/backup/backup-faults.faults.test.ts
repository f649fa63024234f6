import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { checkDataFolder, dataFiles, dataPaths } from '../../../src/files/data-folder.ts'
import { realFileSystem } from '../../../src/files/file-system.ts'
import { openDataFolder } from '../../../src/files/owned-folder.ts'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { readBackup } from '../../../src/state/backup-document.ts'
import { openConfigurationStore } from '../../../src/storage/file/file-storage.ts'
import { CHANGE_VERSION } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import {
  type KeptState,
  makeUsedFolder,
  stateIn,
  stateOfBackup,
  stateOfText,
} from '../../commands/kept-state.ts'
import { photographState } from '../../commands/photograph.ts'
import { logIn } from '../../support/api.ts'
import { runCommand } from '../../support/command.ts'
import { missing } from '../../support/debian.ts'
import { eventually } from '../../support/eventually.ts'
import { executable, runExecutable, startExecutable } from '../../support/executable.ts'
import { createFailingFiles } from '../../support/failing-files.ts'
import { createClient } from '../../support/http-client.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createRandom } from '../../support/random.ts'
import { admin } from '../../support/service.ts'
import { draft, someone } from '../../support/store.ts'
import { type Injection, oneFileThread, underStrace } from '../../support/strace.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { type KillPoints, killAtEach } from '../system-calls/kill-points.ts'
import { Writer } from '../writer.ts'

const used = await makeUsedFolder({ after })
const oldBackup = await readFile(used.backup, 'utf8')

const WRITERS = 6
const BUSY_ROUNDS = 8
const BACKUPS_EACH_ROUND = 8
const BACKUPS_UNDER_COMPACTION = 100
const COUNTERS = 5

const long = '\u{1f5c4}'.repeat(250)
/** A journal larger than its snapshot, so that a server that opens it starts a compaction. */
const grownJournal = encodeJournalStart(
  { store: 's', after: 0, version: CHANGE_VERSION },
  Array.from({ length: 2200 }, (_, i) => ({
    add: new Configuration(i + 1, draft(`filled ${i} ${long}`, { username: long })),
  })),
).bytes

async function copyUsed(t: TestContext): Promise<string> {
  const folder = join(await temporaryFolder(t), 'data')
  await cp(used.folder, folder, { recursive: true })
  return folder
}

async function copyGrown(t: TestContext): Promise<string> {
  const folder = await copyUsed(t)
  await writeFile(join(folder, dataFiles.journal), grownJournal)
  return folder
}

/** Restores a backup elsewhere, which must give exactly its state. */
async function assertRestorable(t: TestContext, backup: string, expected: KeptState) {
  const folder = join(await temporaryFolder(t), 'data')
  const { code, stderr } = await runCommand(['restore', backup, '--data', folder])
  assert.equal(code, 0, stderr)
  assert.deepEqual(await stateIn(folder), expected)
}

describe('connbook backup while a server takes changes', () => {
  it('holds everything acknowledged before it began, and only what was requested', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    for (let round = 0; round < BUSY_ROUNDS; round += 1) {
      const folder = await copyGrown(t)
      const target = join(folder, '..', 'backup.json')
      const writers = Array.from({ length: WRITERS }, (_, i) => new Writer(String(i), random))
      const server = await startExecutable(t, ['--data', folder])
      const ask = createClient(server.url, await logIn(server.url, admin))
      let isOver = false
      const write = async (writer: Writer) => {
        while (!isOver) assert.notEqual((await writer.change(ask))?.status, undefined)
      }
      const writing = Promise.all(writers.map(write))
      try {
        for (let made = 0; made < BACKUPS_EACH_ROUND; made += 1) {
          const since = writers.map((writer) => writer.position)
          const toFile = made % 2 === 0
          const finished = await runExecutable(['backup', toFile ? target : '-', '--data', folder])
          assert.equal(finished.code, 0, finished.stderr)
          const state = toFile ? await stateOfBackup(target) : stateOfText(finished.stdout)
          for (const [i, writer] of writers.entries()) writer.observe(state.records, since[i] ?? 0)
          assert.equal(state.records.filter(({ name }) => name.startsWith('filled ')).length, 2200)
          assert.ok(state.nextId > Math.max(...state.records.map(({ id }) => id)))
          if (toFile) await assertRestorable(t, target, state)
        }
      } finally {
        isOver = true
        await writing
      }
      assert.match(server.stderr(), /"event":"snapshot_written"/)
      await server.stop()
    }
  })

  it('tolerates that compaction removes a file that it is about to check', async (t) => {
    const folder = await copyUsed(t)
    await writeFile(join(folder, dataFiles.journalOld), '')
    const files = createFailingFiles()
    files.before = async (operation, path) => {
      if (operation === 'lstat' && path.endsWith(dataFiles.journalOld)) await rm(path)
    }
    await checkDataFolder(dataPaths(folder, files))
    assert.ok(!(await readdir(folder)).includes(dataFiles.journalOld))
  })

  it('holds exactly the state of its revision during repeated compaction', async (t) => {
    const folder = await copyUsed(t)
    const target = join(folder, '..', 'backup.json')
    const owner = await openDataFolder(folder)
    const log = createMemoryLog()
    const store = await openConfigurationStore(owner, { mustExist: true, log, snapshotBytesMin: 1 })
    const first = store.revision + COUNTERS
    await Promise.all(
      Array.from({ length: COUNTERS }, (_, i) => store.add(someone, draft(`counter ${i}`, { port: 1 }))),
    )
    /** The counter that each revision after `first` incremented; promises resolve in the order of revisions. */
    const history: number[] = []
    let isOver = false
    const count = async (counter: number) => {
      for (let port = 2; !isOver && port <= 65_535; port += 1) {
        await store.modify(someone, `counter ${counter}`, { port })
        history.push(counter)
      }
    }
    const counting = Promise.all(Array.from({ length: COUNTERS }, (_, i) => count(i)))
    const backups: { revision: number; acknowledged: number; ports: number[] }[] = []
    try {
      for (let made = 0; made < BACKUPS_UNDER_COMPACTION; made += 1) {
        const acknowledged = store.revision
        const { code, stderr } = await runExecutable(['backup', target, '--data', folder])
        assert.equal(code, 0, stderr)
        const { revision, records } = await readBackup(target, realFileSystem)
        const ports = [...records].filter(({ name }) => name.startsWith('counter ')).map(({ port }) => port)
        backups.push({ revision, acknowledged, ports })
      }
    } finally {
      isOver = true
      await counting
      await store.close()
      owner.release()
    }

    for (const { revision, acknowledged, ports } of backups) {
      assert.ok(revision >= acknowledged, `revision ${revision}, acknowledged ${acknowledged}`)
      const expected = new Array<number>(COUNTERS).fill(1)
      for (const counter of history.slice(0, revision - first))
        expected[counter] = (expected[counter] ?? 0) + 1
      assert.deepEqual(ports, expected, `revision ${revision}`)
    }
    const snapshots = log.events.filter((event) => event === 'snapshot_written').length
    t.diagnostic(`${history.length} changes and ${snapshots} snapshots during ${backups.length} backups`)
    assert.ok(snapshots >= backups.length)
  })
})

/** Whether a process catches SIGINT; see proc_pid_status(5). */
async function catchesInterrupt(pid: number | undefined): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const caught = BigInt(`0x${/^SigCgt:\s*([0-9a-f]+)$/m.exec(status)?.[1]}`)
  return (caught & (1n << BigInt(constants.signals.SIGINT - 1))) !== 0n
}

describe('connbook backup, interrupted', { skip: missing('strace') }, () => {
  async function place(t: TestContext): Promise<{ folder: string; target: string }> {
    const folder = await copyGrown(t)
    const target = join(await temporaryFolder(t), 'backup.json')
    await writeFile(target, oldBackup, { mode: 0o600 })
    return { folder, target }
  }

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`leaves the old backup and nothing else on ${signal}`, async (t) => {
      const { folder, target } = await place(t)
      const slow = underStrace({ calls: 'pwrite64', fault: 'delay_enter=300000' })
      const [command = '', ...words] = [...slow, executable, 'backup', target, '--data', folder]
      const child = spawn(command, words, {
        env: { PATH: process.env.PATH, ...oneFileThread },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      t.after(() => void child.kill('SIGKILL'))
      const exited = once(child, 'exit')
      let stderr = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
      await eventually('it writes', async () => (await readdir(join(target, '..'))).length > 1)
      child.kill(signal)
      assert.deepEqual(await exited, [1, null])
      assert.equal(
        stderr,
        `connbook: Cannot keep a backup in "${target}" (${signal}); what was there before is untouched\n`,
      )
      assert.deepEqual(await readdir(join(target, '..')), ['backup.json'])
      assert.equal(await readFile(target, 'utf8'), oldBackup)
    })
  }

  it('ends at once on a second SIGINT while the disk is slow, and leaves the old backup', async (t) => {
    const { folder, target } = await place(t)
    const log = join(await temporaryFolder(t), 'strace.log')
    const stuck = underStrace({ calls: 'pwrite64', fault: 'delay_enter=3000000' }, log)
    const [command = '', ...words] = [...stuck, executable, 'backup', target, '--data', folder]
    const child = spawn(command, words, {
      env: { PATH: process.env.PATH, ...oneFileThread },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    t.after(() => void child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    await eventually('it writes', async () =>
      (await readFile(log, 'utf8').catch(() => '')).includes('pwrite64('),
    )
    child.kill('SIGINT')
    await eventually('it has taken the first one', async () => !(await catchesInterrupt(child.pid)))
    child.kill('SIGINT')
    assert.deepEqual(await exited, [null, 'SIGINT'])
    // strace writes to the same standard error.
    assert.doesNotMatch(stderr, /^connbook/m)
    assert.equal(await readFile(target, 'utf8'), oldBackup)
  })

  it('leaves the old backup or the new one when it is killed at a system call', async (t) => {
    const points: KillPoints[] = [{ call: 'pwrite64' }, { call: 'fsync' }, { call: 'rename' }]
    const { folder, target } = await place(t)
    const before = await photographState(folder)
    let made = 0
    await killAtEach(t, points, async (throughFor) => {
      const own = join(target, '..', `backup-${made++}.json`)
      await writeFile(own, oldBackup)
      const { code } = await runExecutable(['backup', own, '--data', folder], {
        through: throughFor(folder),
        environment: oneFileThread,
      })
      const text = await readFile(own, 'utf8')
      if (text !== oldBackup) assert.equal((await stateOfBackup(own)).records.length, 2200)
      if (code === 0) assert.notEqual(text, oldBackup)
      return code === null
    })
    assert.deepEqual(await photographState(folder), before)
  })

  it('leaves the old backup when the disk fails', async (t) => {
    const { folder, target } = await place(t)
    for (const [calls, code] of [
      ['pwrite64', 'ENOSPC'],
      ['fsync', 'EIO'],
      ['rename', 'EIO'],
    ]) {
      const through = underStrace({ calls: calls ?? '', fault: `error=${code}`, when: '1' })
      const finished = await runExecutable(['backup', target, '--data', folder], {
        through,
        environment: oneFileThread,
      })
      assert.equal(finished.code, 1)
      assert.ok(finished.stderr.includes(`(${code}); what was there before is untouched`), finished.stderr)
      assert.equal(await readFile(target, 'utf8'), oldBackup)
      assert.deepEqual(await readdir(join(target, '..')), ['backup.json'])
    }
  })
})

describe('connbook backup during a restore', { skip: missing('strace') }, () => {
  /** Starts a command that stops at a system call; resolves once it has. */
  async function startStopping(t: TestContext, args: string[], injection: Omit<Injection, 'fault'>) {
    const log = join(await temporaryFolder(t), 'strace.log')
    const [command = '', ...words] = [
      ...underStrace({ ...injection, fault: 'signal=STOP' }, log),
      executable,
      ...args,
    ]
    const child = spawn(command, words, {
      env: { PATH: process.env.PATH, ...oneFileThread },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    t.after(() => void child.kill('SIGKILL'))
    const exited = once(child, 'exit') as Promise<[number | null]>
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    await eventually('it has stopped', async () =>
      (await readFile(log, 'utf8').catch(() => '')).includes('stopped by SIGSTOP'),
    )
    return async () => {
      child.kill('SIGCONT')
      const [code] = await exited
      return { code, stderr }
    }
  }

  it('does not report files as damaged while they are replaced', async (t) => {
    const folder = await copyUsed(t)
    const target = join(folder, '..', 'backup.json')
    const goOn = await startStopping(t, ['backup', target, '--data', folder], {
      calls: 'openat',
      path: join(folder, dataFiles.snapshot),
    })
    // When all old files are aside and no new one is in place.
    const finishRestore = await startStopping(t, ['restore', used.backup, '--data', folder], {
      calls: 'rename',
      when: '11',
    })
    assert.ok(!(await readdir(folder)).includes(dataFiles.journal))
    const { code, stderr } = await goOn()
    assert.equal((await finishRestore()).code, 0)
    assert.notEqual(code, 65, stderr)
    if (code === 0) assert.deepEqual(await stateOfBackup(target), used.kept)
  })

  it('does not combine the records of one state with the accounts of another', async (t) => {
    const folder = await copyUsed(t)
    const target = join(folder, '..', 'backup.json')
    assert.equal((await runExecutable(['client', 'add', 'later', '--data', folder])).code, 0)
    const before = await stateIn(folder)
    const goOn = await startStopping(t, ['backup', target, '--data', folder], {
      calls: 'statx',
      path: join(folder, dataFiles.accounts),
      // After the checks of the folder: the last statx before the file is opened.
      when: '3',
    })
    assert.equal((await runExecutable(['restore', used.backup, '--data', folder])).code, 0)
    const { code, stderr } = await goOn()
    if (code === 1) return assert.match(stderr, /restore/)
    assert.equal(code, 0, stderr)
    const state = await stateOfBackup(target)
    assert.deepEqual(state, state.records.length === before.records.length ? before : used.kept)
  })
})
