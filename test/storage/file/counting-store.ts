import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { TestContext } from 'node:test'
import { dataFiles, dataPaths } from '../../../src/files/data-folder.ts'
import { realFileSystem } from '../../../src/files/file-system.ts'
import { openDataFolder } from '../../../src/files/owned-folder.ts'
import { openConfigurationStore } from '../../../src/storage/file/file-storage.ts'
import { readStore } from '../../../src/storage/file/store-files.ts'
import { until } from '../../support/eventually.ts'
import { createFailingFiles, holdUp } from '../../support/failing-files.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { draft, someone } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

async function recordsBeside(folder: string, files = realFileSystem) {
  const { index } = await readStore(dataPaths(folder, files), true)
  return index.slice(0, index.count)
}

export async function namesBeside(folder: string, files = realFileSystem): Promise<string[]> {
  return (await recordsBeside(folder, files)).map(({ name }) => name)
}

/** The port of the one record, which counts its changes. */
export async function countBeside(folder: string, files = realFileSystem): Promise<number> {
  const records = await recordsBeside(folder, files)
  assert.equal(records.length, 1)
  return records[0]?.port ?? 0
}

/** A store with one record whose port counts its changes; it makes a snapshot every few changes. */
export async function openCounting(t: TestContext, path: string) {
  const folder = await openDataFolder(path)
  const files = createFailingFiles()
  const log = createMemoryLog()
  const store = await openConfigurationStore(
    { ...folder, files },
    { mustExist: false, log, snapshotBytesMin: 1 },
  )
  t.after(async () => {
    await store.close()
    folder.release()
  })
  let count = 1
  await store.add(someone, draft('counter', { port: count }))
  const snapshots = () => log.events.filter((event) => event === 'snapshot_written').length
  const isCompacting = () => existsSync(folder.file(dataFiles.journalOld))
  /** Makes changes until a compaction has begun; returns a function that waits for its end. */
  const beginCompaction = async () => {
    const before = snapshots()
    while (snapshots() === before && !isCompacting()) {
      await store.modify(someone, 'counter', { port: count + 1 })
      count += 1
    }
    return () => until(() => snapshots() > before && !isCompacting())
  }
  await until(() => snapshots() > 0 && !isCompacting())
  return { files, store, beginCompaction, count: () => count }
}

/**
 * Asserts that a compaction is never mistaken for damage, wherever it begins and ends between two calls of the reader.
 *
 * @param callsApartMax The most calls between its beginning and its end.
 */
export async function assertNoCompactionIsDamage(t: TestContext, callsApartMax: number): Promise<void> {
  const folder = await temporaryFolder(t)
  const writer = await openCounting(t, folder)
  const alone = createFailingFiles()
  await countBeside(folder, alone)
  const calls = alone.calls.length
  const faults: string[] = []
  for (let begin = 0; begin < calls; begin += 1) {
    for (let end = begin + 1; end < Math.min(calls, begin + callsApartMax); end += 1) {
      const files = createFailingFiles()
      const before = writer.count()
      const snapshot = holdUp(writer.files, 'rename', 'snapshot.json')
      let compacted = async () => {}
      let made = 0
      files.before = async () => {
        const call = made++
        if (call === begin) {
          compacted = await writer.beginCompaction()
          await snapshot.begun
        }
        if (call !== end) return
        snapshot.release()
        await compacted()
      }
      try {
        const found = await countBeside(folder, files)
        assert.ok(before <= found && found <= writer.count(), `found ${found}, not ${before}`)
      } catch (error) {
        const [first, last] = [begin, end].map((call) => describeCall(files.calls[call]))
        faults.push(`from before ${first} to before ${last}: ${error}`)
      }
      snapshot.release()
      await compacted()
    }
  }
  assert.deepEqual(faults, [])
}

function describeCall(call = ''): string {
  const [operation, path = ''] = call.split(' ')
  return `${operation} ${basename(path)}`
}
