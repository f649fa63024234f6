import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { DamagedFileError, systemCode } from '../../../src/errors.ts'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { openDataFolder } from '../../../src/files/owned-folder.ts'
import { openConfigurationStore } from '../../../src/storage/file/file-storage.ts'
import { getToken, logIn } from '../../support/api.ts'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import { createFailingFiles } from '../../support/failing-files.ts'
import { type FolderImage, writeImage } from '../../support/folder-image.ts'
import { createClient, recordsIn } from '../../support/http-client.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createRandom, type Random } from '../../support/random.ts'
import { admin, client, start, usedFolder } from '../../support/service.ts'
import { draft, openStore, someone } from '../../support/store.ts'
import { type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'
import { Writer } from '../writer.ts'

const COPIES = 60
const WRITERS = 6
const CHANGES_BEFORE_COPY = 30
/** Copies of a folder in which snapshots are made continually. */
const MIXED_COPIES = 3_000
const CHANGES = 60
const SNAPSHOT_BYTES_MIN = 400
/** Most system calls of the server between the copying of two files. */
const CALLS_BETWEEN_MAX = 30

const storeFiles = [dataFiles.journal, dataFiles.journalOld, dataFiles.snapshot]

describe('a folder copied under load', () => {
  it('holds everything acknowledged before the copying began, or is refused with exit code 65', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const root = await temporaryFolder(t)
    const [folder, copy] = [join(root, 'data'), join(root, 'copy')]
    await cp(await usedFolder(t), folder, { recursive: true })
    const server = await startExecutable(t, ['--data', folder])
    const headers = await getToken(server.url, client)
    const ask = createClient(server.url, headers)
    const writers = Array.from({ length: WRITERS }, (_, i) => new Writer(String(i), random))
    const journalOf = (path: string) => join(path, dataFiles.journal)

    let good = 0
    for (let round = 0; round < COPIES; round += 1) {
      let isOver = false
      let changes = 0
      const enough = Promise.withResolvers<void>()
      const write = async (writer: Writer) => {
        while (!isOver) {
          assert.equal((await writer.change(ask))?.status.toString().startsWith('20'), true)
          changes += 1
          if (changes >= CHANGES_BEFORE_COPY) enough.resolve()
        }
      }
      const writing = Promise.all(writers.map(write))
      await Promise.race([enough.promise, writing])
      const ended = await logIn(server.url, admin)
      assert.equal((await createClient(server.url, ended)('POST', '/logout')).status, 200)
      const since = writers.map((writer) => writer.position)
      const { size: bytesBefore } = await stat(journalOf(folder))
      await rm(copy, { recursive: true, force: true })
      await promisify(execFile)('cp', ['-r', folder, copy])
      isOver = true
      await writing

      const found = await withService(copy, async (url) => {
        assert.equal((await createClient(url, ended)('GET', '/configurations/')).status, 403)
        return recordsIn(await createClient(url, headers)('GET', '/configurations/'))
      })
      if (found === undefined) continue
      good += 1
      for (const [i, writer] of writers.entries()) writer.observe(found, since[i] ?? 0)
      const [all, copied] = [await readFile(journalOf(folder)), await readFile(journalOf(copy))]
      assert.ok(copied.length >= bytesBefore && all.subarray(0, copied.length).equals(copied))
    }
    assert.ok(good > COPIES / 2, `${good} of ${COPIES} copies are good`)
    const last = await runExecutable(['client', 'list', '--data', copy])
    assert.equal(last.stdout, `${client.client_id}\n`)
  })

  it('is valid or reported as damaged, never silently wrong, however copying and snapshots interleave', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const moments = await recordMoments(t)
    const folder = join(await temporaryFolder(t), 'copy')
    const outcomes = { good: 0, damaged: 0 }
    for (let i = 0; i < MIXED_COPIES; i += 1) {
      const { image, acknowledged, how } = copyFileByFile(moments, random)
      await writeImage(folder, image)
      const changes = await changesIn(folder)
      if (changes === undefined) outcomes.damaged += 1
      else {
        assert.ok(changes >= acknowledged, `${how}: ${changes} changes of ${acknowledged} acknowledged`)
        outcomes.good += 1
      }
    }
    t.diagnostic(JSON.stringify(outcomes))
    assert.ok(outcomes.good > MIXED_COPIES / 4, JSON.stringify(outcomes))
  })
})

/** Runs the service on a folder during an action; undefined if the folder is refused as damaged. */
async function withService<T>(folder: string, action: (url: string) => Promise<T>): Promise<T | undefined> {
  const cleanUps: (() => void | Promise<void>)[] = []
  try {
    const { url } = await start({ after: (step) => void cleanUps.push(step) }, { folder })
    return await action(url)
  } catch (error) {
    if (error instanceof DamagedFileError) return undefined
    throw error
  } finally {
    for (const step of cleanUps) await step()
  }
}

/** A folder between two system calls of its server. */
interface Moment {
  readonly image: FolderImage
  /** How many changes had been acknowledged. */
  readonly acknowledged: number
  /** How many snapshots had been begun. */
  readonly begun: number
}

/** Changes a record repeatedly, so that its port is the number of changes, while snapshots are made. */
async function recordMoments(t: Lifetime): Promise<Moment[]> {
  const path = await temporaryFolder(t)
  const folder = await openDataFolder(path)
  const files = createFailingFiles()
  const log = createMemoryLog()
  const options = { mustExist: false, log, snapshotBytesMin: SNAPSHOT_BYTES_MIN }
  const store = await openConfigurationStore({ ...folder, files }, options)
  for (const name of ['counter', 'b', 'c']) await store.add(someone, draft(name, { port: 1 }))
  const moments: Moment[] = []
  let acknowledged = 1
  let begun = 0
  files.before = (operation, target) => {
    moments.push({ image: readStoreFiles(path), acknowledged, begun })
    if (operation === 'rename' && target.endsWith(dataFiles.journalOld)) begun += 1
  }
  for (let port = 2; port <= CHANGES; port += 1) {
    await store.modify(someone, 'counter', { port })
    acknowledged = port
  }
  await store.close()
  folder.release()
  assert.ok(log.events.filter((event) => event === 'snapshot_written').length > 2)
  return moments
}

/** A concurrent call may remove a file between two of these. */
function readStoreFiles(folder: string): FolderImage {
  const image = new Map<string, Buffer>()
  for (const name of storeFiles) {
    try {
      image.set(name, readFileSync(join(folder, name)))
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error
    }
  }
  return image
}

/**
 * The content of a copy that takes one file after the other while the server runs. It may overlap one snapshot, not
 * two: between them the journal grows by megabytes.
 */
function copyFileByFile(moments: readonly Moment[], random: Random) {
  const left: string[] = [...storeFiles]
  const image = new Map<string, Buffer>()
  const steps: string[] = []
  const from = random.integer(0, moments.length - 1)
  const { acknowledged, begun, image: first } = moments[from] ?? assert.fail('there is one')
  const begunMax = first.has(dataFiles.journalOld) ? begun : begun + 1
  const end = moments.findLastIndex((moment) => moment.begun <= begunMax)
  for (let at = from; left.length > 0; at = Math.min(end, at + random.integer(0, CALLS_BETWEEN_MAX))) {
    const [name = ''] = left.splice(random.integer(0, left.length - 1), 1)
    const bytes = moments[at]?.image.get(name)
    if (bytes !== undefined) image.set(name, bytes)
    steps.push(`${name} at call ${at}`)
  }
  return { image, acknowledged, how: steps.join(', ') }
}

/** How often the record was changed in a copy; undefined if the copy is refused as damaged. */
async function changesIn(folder: string): Promise<number | undefined> {
  const cleanUps: (() => void | Promise<void>)[] = []
  try {
    const opened = await openStore({ after: (step) => void cleanUps.push(step) }, folder, { mustExist: true })
    const records = opened.store.list(0, opened.store.count)
    assert.deepEqual(
      records.map(({ id, name, hostname, username }) => ({ id, name, hostname, username })),
      ['counter', 'b', 'c'].map((name, i) => ({
        id: i + 1,
        name,
        hostname: 'host.example',
        username: 'ops',
      })),
    )
    return records[0]?.port
  } catch (error) {
    if (error instanceof DamagedFileError) return undefined
    throw error
  } finally {
    for (const step of cleanUps) await step()
  }
}
