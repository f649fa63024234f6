import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { RECOVERY_PAUSE_MS_MIN } from '../../src/journal/recovery-loop.ts'
import { formatMetrics } from '../../src/metrics/exposition.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { openConfigurationStore } from '../../src/storage/file/file-storage.ts'
import { storeMetrics } from '../../src/store/store-metrics.ts'
import { eventually } from '../support/eventually.ts'
import {
  createFailingFiles,
  type FailingFiles,
  failOn,
  type Operation,
  systemError,
} from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { draft, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { measured } from './measured.ts'
import { Samples } from './scrape.ts'

/** A store that writes a snapshot when its journal has `snapshotBytesMin` bytes. */
async function measuredStore(t: TestContext, snapshotBytesMin?: number) {
  const path = await temporaryFolder(t)
  const folder = await openDataFolder(path)
  t.after(() => folder.release())
  const files = createFailingFiles()
  const log = createMemoryLog()
  const store = await openConfigurationStore(
    { ...folder, files },
    {
      mustExist: false,
      log,
      ...(snapshotBytesMin === undefined ? {} : { snapshotBytesMin }),
    },
  )
  t.after(() => store.close())
  const read = () => new Samples(formatMetrics(storeMetrics(store, () => store.isWritable)))
  return { path, files, log, store, read }
}

/**
 * Makes each such operation on a file fail once, and then hang until the function that is returned is called: a server
 * that tries to recover is held there.
 */
function breakDisk(files: FailingFiles, isBroken: (operation: Operation, path: string) => boolean) {
  const mended = Promise.withResolvers<void>()
  const failed = new Set<string>()
  files.before = (operation, path) => {
    if (!isBroken(operation, path)) return
    const call = `${operation} ${path}`
    if (failed.has(call)) return mended.promise
    failed.add(call)
    throw systemError('EIO', path)
  }
  return () => {
    files.before = () => {}
    mended.resolve()
  }
}

describe('the metrics of the store', () => {
  it('show records, changes, and groups that were written together', async (t) => {
    const { path, files, store, read } = await measuredStore(t)
    assert.equal(read().get('connbook_journal_changes_total'), 0)
    const syncsBefore = files.calls.filter((call) => call.startsWith('datasync')).length
    await Promise.all(Array.from({ length: 20 }, (_, i) => store.add(someone, draft(`record-${i}`))))
    await store.remove(someone, 'record-0')
    await store.modify(someone, 'record-1', { port: 2 })
    await store.modify(someone, 'record-1', { port: 2 })
    await assert.rejects(store.remove(someone, 'record-0'))

    const samples = read()
    const syncs = files.calls.filter((call) => call.startsWith('datasync')).length - syncsBefore
    assert.equal(samples.get('connbook_records'), 19)
    assert.equal(samples.get('connbook_journal_changes_total'), 22)
    assert.equal(samples.get('connbook_journal_frames_total'), syncs)
    assert.ok(syncs < 22)
    assert.equal(samples.get('connbook_journal_fsync_duration_seconds_count'), syncs)
    assert.equal(samples.get('connbook_journal_bytes'), (await stat(join(path, 'journal.jsonl'))).size)
    assert.equal(samples.get('connbook_writable'), 1)
  })

  it('show how long a sync took, and do not count failed ones', async (t) => {
    const { files, store, read } = await measuredStore(t)
    let elapsedMs = 0
    t.mock.method(performance, 'now', () => elapsedMs)
    files.before = (operation) => {
      if (operation === 'datasync') elapsedMs += 30
    }
    await store.add(someone, draft('slow'))
    const name = 'connbook_journal_fsync_duration_seconds'
    assert.equal(read().get(`${name}_bucket{le="0.025"}`), 0)
    assert.equal(read().get(`${name}_bucket{le="0.05"}`), 1)
    assert.equal(read().get(`${name}_sum`), 0.03)

    t.mock.restoreAll()
    failOn(files, 'datasync', 'journal.jsonl', 'EIO')
    await assert.rejects(store.add(someone, draft('lost')))
    assert.equal(read().get(`${name}_count`), 1)
    assert.equal(read().get('connbook_journal_changes_total'), 1)
    await eventually('it is writable again', () => store.isWritable)
  })

  it('count snapshots that were written and that failed', async (t) => {
    const { files, log, store, read } = await measuredStore(t, 1_000)
    assert.deepEqual(read().of('connbook_snapshot_last_timestamp_seconds'), {})
    failOn(files, 'rename', 'snapshot.json', 'EIO')
    let count = 0
    const addUntil = async (event: string) => {
      while (!log.events.includes(event)) await store.add(someone, draft(`record-${count++}`))
    }
    await addUntil('snapshot_failed')
    assert.deepEqual(read().of('connbook_snapshots_total'), {
      '{outcome="written"}': 0,
      '{outcome="failed"}': 1,
    })
    assert.deepEqual(read().of('connbook_snapshot_last_duration_seconds'), {})

    const before = Date.now() / 1000
    let elapsedMs = 0
    t.mock.method(performance, 'now', () => elapsedMs)
    files.before = (operation, path) => {
      if (operation === 'rename' && path.endsWith('/snapshot.json')) elapsedMs += 40
    }
    await addUntil('snapshot_written')
    const samples = read()
    assert.deepEqual(samples.of('connbook_snapshots_total'), {
      '{outcome="written"}': 1,
      '{outcome="failed"}': 1,
    })
    const at = samples.get('connbook_snapshot_last_timestamp_seconds') ?? 0
    assert.ok(at >= before && at <= Date.now() / 1000, String(at))
    assert.equal(samples.get('connbook_snapshot_last_duration_seconds'), 0.04)
  })

  it('show while changes are refused because the disk failed', async (t) => {
    const files = createFailingFiles()
    const { service, ask, scrape: read } = await measured(t, { files })
    skipPauses(t, REFUSAL_PAUSE_MS, RECOVERY_PAUSE_MS_MIN)
    const mend = breakDisk(
      files,
      (operation, path) =>
        (operation === 'datasync' && path.endsWith('/journal.jsonl')) ||
        (operation === 'rename' && path.endsWith('/snapshot.json')),
    )
    assert.equal((await ask('POST', '/configurations/', { body: draft('a') })).status, 503)
    await eventually('it is told', () => service.log.events.includes('storage_unavailable'))
    const samples = await read()
    assert.equal(samples.get('connbook_writable'), 0)
    assert.equal(samples.get('connbook_snapshots_total{outcome="failed"}'), 1)

    mend()
    await eventually('it recovers', () => service.log.events.includes('storage_recovered'))
    const recovered = await read()
    assert.equal(recovered.get('connbook_writable'), 1)
    assert.equal(recovered.get('connbook_snapshots_total{outcome="written"}'), 1)
  })

  it('show while ended sessions cannot be stored', async (t) => {
    const files = createFailingFiles()
    const { service, ask, scrape: read } = await measured(t, { files })
    skipPauses(t, REFUSAL_PAUSE_MS, RECOVERY_PAUSE_MS_MIN)
    const mend = breakDisk(
      files,
      (operation, path) => /revocations/.test(path) && (operation === 'datasync' || operation === 'rename'),
    )
    assert.equal((await ask('POST', '/logout')).status, 503)
    assert.equal((await read()).get('connbook_writable'), 0)
    mend()
    await eventually('it recovers', () => service.log.events.includes('storage_recovered'))
    assert.equal((await read()).get('connbook_writable'), 1)
  })
})
