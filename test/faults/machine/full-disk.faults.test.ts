import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { systemCode } from '../../../src/errors.ts'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { SNAPSHOT_JOURNAL_BYTES_MIN } from '../../../src/storage/file/file-storage.ts'
import { CHANGE_VERSION } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { getToken, logIn } from '../../support/api.ts'
import { missing } from '../../support/debian.ts'
import { eventually } from '../../support/eventually.ts'
import { type RunningServer, runExecutable, startExecutable } from '../../support/executable.ts'
import { type Ask, createClient, type Headers, namesIn, recordsIn } from '../../support/http-client.ts'
import { mountSmallDisk, noNamespaces, type SmallDisk } from '../../support/namespace.ts'
import { createRandom } from '../../support/random.ts'
import { admin, client, firstStartEnvironment, usedFolder } from '../../support/service.ts'
import { draft } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { Writer } from '../writer.ts'

const KIB = 1024
const MIB = 1024 * KIB
/** Files on this disk grow by pages. */
const PAGE_BYTES = 4096
const RESTARTS = 20
const ROUNDS_EACH = 5
const JOURNAL_BYTES_MAX = 10_000
const LONG = '\u{1f5c4}'.repeat(250)
/** Changes until another snapshot is due. */
const SNAPSHOT_CHANGES = Math.ceil(SNAPSHOT_JOURNAL_BYTES_MIN / Buffer.byteLength(LONG))

const add = (ask: Ask, name: string) => ask('POST', '/configurations/', { body: draft(name) })

/** Adds records until one is refused, which must be for lack of room; returns the names of the others. */
async function addUntilFull(ask: Ask, prefix: string): Promise<string[]> {
  const added: string[] = []
  for (;;) {
    const name = `${prefix} ${added.length}`
    const answer = await add(ask, name)
    if (answer.status === 200) {
      added.push(name)
      assert.ok(added.length < 10_000, 'it is never full')
      continue
    }
    assert.equal(answer.status, 507, answer.text)
    assert.equal(answer.headers['content-type'], 'application/problem+json')
    assert.equal(answer.json<{ status: number }>().status, 507)
    return added
  }
}

async function assertNoPartOfALine(folder: string) {
  assert.equal((await readFile(join(folder, dataFiles.journal))).at(-1), 0x0a, 'a part of a line was left')
}

describe('a file at its size limit', () => {
  it('refuses changes with 507, keeps answering, and takes them again without a restart', {
    skip: missing('strace'),
  }, async (t) => {
    const root = await temporaryFolder(t)
    const [data, trace] = [join(root, 'data'), join(root, 'trace')]
    // A file for each thread: in a common one, calls of two threads interrupt each other's lines.
    const through = ['strace', '-D', '-ff', '--seccomp-bpf', '-qq', '-e', 'trace=pwrite64', '-o', trace]
    through.push('prlimit', `--fsize=${JOURNAL_BYTES_MAX}:unlimited`)
    await cp(await usedFolder(t), data, { recursive: true })
    const first = await startExecutable(t, ['--data', data], { through })
    const bearer = await getToken(first.url, client)
    const ask = createClient(first.url, bearer)

    const added = await addUntilFull(ask, 'n')
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), added)
    await assertNoPartOfALine(data)
    await eventually('the system has written a part of a frame', async () => {
      const names = (await readdir(root)).filter((name) => name.startsWith('trace.'))
      const traces = await Promise.all(names.map((name) => readFile(join(root, name), 'utf8')))
      const writes = traces.flatMap((text) => [...text.matchAll(/, (\d+), \d+\) += (\d+)$/gm)])
      return writes.some(([, asked, written]) => Number(written) < Number(asked))
    })

    await promisify(execFile)('prlimit', ['--pid', String(first.process.pid), '--fsize=unlimited'])
    assert.equal((await add(ask, 'later')).status, 200)
    await first.stop('SIGKILL')

    const second = await startExecutable(t, ['--data', data])
    const found = await createClient(second.url, bearer)('GET', '/configurations/')
    assert.deepEqual(namesIn(found), [...added, 'later'])
  })
})

async function copyInto({ outside }: SmallDisk, folder: string) {
  for (const name of await readdir(folder)) await cp(join(folder, name), join(outside, name))
}

interface DataOnDisk {
  readonly disk: SmallDisk
  readonly data: string
  readonly start: () => Promise<RunningServer>
}

/** @param isUsed Whether there has been a first start. */
async function dataOnDisk(t: TestContext, bytes: number, isUsed = true): Promise<DataOnDisk> {
  const data = join(await temporaryFolder(t), 'data')
  await mkdir(data)
  const disk = await mountSmallDisk(t, data, bytes)
  if (isUsed) await copyInto(disk, await usedFolder(t))
  const { through } = disk
  return {
    disk,
    data,
    start: () => startExecutable(t, ['--data', data], { through, environment: firstStartEnvironment }),
  }
}

/** Uses up the free space, and frees some of it. */
function createFiller({ outside }: SmallDisk) {
  const path = join(outside, 'filler')
  return {
    async fill() {
      await writeFile(path, Buffer.alloc(4 * MIB), { flag: 'a' }).catch((error: unknown) => {
        assert.equal(systemCode(error), 'ENOSPC')
      })
    },
    free: (bytesLeft: number) => truncate(path, bytesLeft),
    remove: () => rm(path),
  }
}

const temporaryFilesIn = async ({ outside }: SmallDisk) =>
  (await readdir(outside)).filter((name) => name.endsWith('.tmp'))

describe('a full disk', { skip: noNamespaces }, () => {
  it('refuses changes with 507, keeps answering, and takes them again without a restart', async (t) => {
    const { disk, ...on } = await dataOnDisk(t, 64 * KIB)
    const first = await on.start()
    const [bearer, session] = [await getToken(first.url, client), await logIn(first.url, admin)]
    const ask = createClient(first.url, bearer)
    const status = async (path: string) => (await createClient(first.url)('GET', path)).status
    const added = await addUntilFull(ask, 'n')
    assert.ok(added.length > 50)

    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), added)
    assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 200])
    await assertNoPartOfALine(disk.outside)

    await disk.resize(128 * KIB)
    assert.equal((await add(ask, 'later')).status, 200)
    assert.equal((await createClient(first.url, session)('POST', '/logout')).status, 200)
    await first.stop('SIGKILL')

    const second = await on.start()
    const found = await createClient(second.url, bearer)('GET', '/configurations/')
    assert.deepEqual(namesIn(found), [...added, 'later'])
    assert.equal((await createClient(second.url, session)('GET', '/configurations/')).status, 403)
  })

  it('loses no acknowledged change of many writers, however often it fills up', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    // The audit trail grows all the time.
    const { disk, ...on } = await dataOnDisk(t, 4 * MIB)
    const filler = createFiller(disk)
    const writers = Array.from({ length: 4 }, (_, i) => new Writer(String(i), random))
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      const server = await on.start()
      const ask = createClient(server.url, await getToken(server.url, client))
      const found = recordsIn(await ask('GET', '/configurations/'))
      for (const writer of writers) writer.settle(found)
      for (let round = 0; round < ROUNDS_EACH; round += 1) {
        await filler.fill()
        const isRefused = (await runWriters(writers, ask, (status) => status === 507)).includes(507)
        assert.ok(isRefused)
        // Room for twenty changes and their lines in the audit trail.
        await filler.free(random.integer(32 * KIB, 100 * KIB))
        let stored = 0
        await runWriters(writers, ask, (status) => status !== 507 && ++stored >= 20)
        const shown = recordsIn(await ask('GET', '/configurations/'))
        for (const writer of writers) writer.observe(shown, writer.position)
      }
      await server.stop('SIGKILL')
      await filler.remove()
    }
    const last = await on.start()
    const ask = createClient(last.url, await getToken(last.url, client))
    const found = recordsIn(await ask('GET', '/configurations/'))
    for (const writer of writers) writer.settle(found)
  })

  it('makes only the snapshot fail: the journal takes changes while there is room', async (t) => {
    const { disk, data, ...on } = await dataOnDisk(t, 7 * MIB)
    const names = await placeLongJournal(disk)
    const first = await on.start()
    const headers = await getToken(first.url, client)
    const ask = createClient(first.url, headers)
    await eventually('the snapshot fails', () => first.stderr().includes('"event":"snapshot_failed"'))
    assert.deepEqual(await temporaryFilesIn(disk), [])
    assert.ok(!(await readdir(disk.outside)).includes(dataFiles.snapshot))

    for (const name of ['more 0', 'more 1']) assert.equal((await add(ask, name)).status, 200)
    await first.stop('SIGKILL')
    const second = await on.start()
    const expected = [...names, 'more 0', 'more 1', 'more 2']
    const again = createClient(second.url, headers)
    assert.equal((await add(again, 'more 2')).status, 200)
    await assertNames(second, headers, expected)

    await disk.resize(64 * MIB)
    for (let i = 0; i < SNAPSHOT_CHANGES; i += 1) {
      const body = { hostname: `host${i}.example`, username: LONG }
      assert.equal((await again('PATCH', '/configurations/more%200', { body })).status, 200)
    }
    await eventually('the snapshot is written', () => second.stderr().includes('"event":"snapshot_written"'))
    await second.stop('SIGKILL')
    assert.deepEqual(await temporaryFilesIn(disk), [])
    const left = await readdir(disk.outside)
    assert.ok(left.includes(dataFiles.snapshot))
    assert.ok(!left.includes(dataFiles.journalOld))
    await assertNames(await on.start(), headers, expected)
  })

  it('makes account commands fail with one line, and changes nothing', async (t) => {
    const { disk, data, ...on } = await dataOnDisk(t, 64 * KIB)
    const server = await on.start()
    const filler = createFiller(disk)
    await filler.fill()
    const accounts = () => readFile(join(disk.outside, dataFiles.accounts), 'utf8')
    const run = (words: string) =>
      runExecutable([...words.split(' '), '--data', data], { input: 'a secret', through: disk.through })
    const before = await accounts()
    for (const words of ['client add ci', 'user add eve', 'user passwd admin', 'client remove script']) {
      const { code, stdout, stderr } = await run(words)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^connbook: [^\n]*(ENOSPC|no room)[^\n]*\n$/)
      assert.equal(await accounts(), before)
      assert.deepEqual(await temporaryFilesIn(disk), [])
    }
    assert.equal(
      (await createClient(server.url, await logIn(server.url, admin))('GET', '/configurations/')).status,
      200,
    )
    await filler.remove()
    assert.equal((await run('client add ci')).code, 0)
  })

  it('makes the first start fail with exit code 1 and one line; with room, the next is a first start', async (t) => {
    for (let pages = 1; ; pages += 1) {
      const { disk, ...on } = await dataOnDisk(t, pages * PAGE_BYTES, false)
      const refusal = await on.start().then(
        () => undefined,
        (error: Error) => error.message,
      )
      if (refusal === undefined) {
        assert.ok(pages > 2, 'there was always room')
        break
      }
      assert.match(refusal, /^exit 1: (\{[^\n]+\}\n)*connbook: [^\n]*ENOSPC[^\n]*\n$/)
      await disk.resize(64 * KIB)
      const server = await on.start()
      assert.equal((await add(createClient(server.url, await getToken(server.url, client)), 'n')).status, 200)
      assert.deepEqual(await temporaryFilesIn(disk), [])
      assert.equal(await server.stop(), 0)
    }
  })
})

/** Lets each writer change records until `isEnough` accepts an answer; returns the statuses. */
async function runWriters(
  writers: readonly Writer[],
  ask: Ask,
  isEnough: (status: number) => boolean,
): Promise<number[]> {
  const statuses: number[] = []
  let isOver = false
  const run = async (writer: Writer) => {
    while (!isOver) {
      const answer = await writer.change(ask)
      assert.ok(answer !== undefined && answer.status !== 503)
      statuses.push(answer.status)
      isOver ||= isEnough(answer.status)
    }
  }
  await Promise.all(writers.map(run))
  return statuses
}

/** Puts a folder on the disk whose journal is due for a snapshot; returns its names. */
async function placeLongJournal(disk: SmallDisk): Promise<string[]> {
  const records = Array.from({ length: 2200 }, (_, i) => {
    return new Configuration(i + 1, draft(`${i} ${LONG}`, { username: LONG }))
  })
  const changes = records.map((record) => ({ add: record }))
  const { bytes } = encodeJournalStart({ store: 'long', after: 0, version: CHANGE_VERSION }, changes)
  assert.ok(bytes.length > SNAPSHOT_JOURNAL_BYTES_MIN)
  await writeFile(join(disk.outside, dataFiles.journal), bytes)
  return records.map(({ name }) => name)
}

async function assertNames(server: RunningServer, headers: Headers, expected: readonly string[]) {
  const found = await createClient(server.url, headers)('GET', '/configurations/')
  assert.deepEqual(namesIn(found), expected)
}
