import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openDataFolder } from '../../src/files/data-folder.ts'
import { formatMetrics } from '../../src/metrics/exposition.ts'
import { openConfigurationStore } from '../../src/storage/file/file-storage.ts'
import { storeMetrics } from '../../src/store/store-metrics.ts'
import { createFailingFiles, failOn, systemError } from '../support/failing-files.ts'
import { createClient } from '../support/http-client.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { start } from '../support/service.ts'
import { draft, someone, until } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
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
    files.before = async (operation) => {
      if (operation === 'datasync') await pause(30)
    }
    await store.add(someone, draft('slow'))
    const name = 'connbook_journal_fsync_duration_seconds'
    assert.equal(read().get(`${name}_bucket{le="0.025"}`), 0)
    assert.equal(read().get(`${name}_bucket{le="+Inf"}`), 1)
    const sum = read().get(`${name}_sum`) ?? 0
    assert.ok(sum > 0.028 && sum < 10, String(sum))

    failOn(files, 'datasync', 'journal.jsonl', 'EIO')
    await assert.rejects(store.add(someone, draft('lost')))
    assert.equal(read().get(`${name}_count`), 1)
    assert.equal(read().get('connbook_journal_changes_total'), 1)
    await until(() => store.isWritable)
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
    await addUntil('snapshot_written')
    const samples = read()
    assert.deepEqual(samples.of('connbook_snapshots_total'), {
      '{outcome="written"}': 1,
      '{outcome="failed"}': 1,
    })
    const at = samples.get('connbook_snapshot_last_timestamp_seconds') ?? 0
    assert.ok(at >= before && at <= Date.now() / 1000, String(at))
    const seconds = samples.get('connbook_snapshot_last_duration_seconds') ?? 0
    assert.ok(seconds > 0 && seconds < 5, String(seconds))
  })

  it('show while changes are refused because the disk failed', async (t) => {
    const files = createFailingFiles()
    const service = await start(t, { files, flags: ['--metrics-public'] })
    const ask = createClient(service.url, { Authorization: await service.bearer() })
    const read = async () => new Samples((await ask('GET', '/metrics')).text)
    files.before = (operation, path) => {
      const isSync = operation === 'datasync' && path.endsWith('/journal.jsonl')
      if (isSync || (operation === 'rename' && path.endsWith('/snapshot.json')))
        throw systemError('EIO', path)
    }
    assert.equal((await ask('POST', '/configurations/', { body: draft('a') })).status, 503)
    await until(() => service.log.events.includes('storage_unavailable'))
    const samples = await read()
    assert.equal(samples.get('connbook_writable'), 0)
    assert.equal(samples.get('connbook_snapshots_total{outcome="failed"}'), 1)

    files.before = () => {}
    await until(() => service.log.events.includes('storage_recovered'))
    const recovered = await read()
    assert.equal(recovered.get('connbook_writable'), 1)
    assert.equal(recovered.get('connbook_snapshots_total{outcome="written"}'), 1)
  })

  it('show while ended sessions cannot be stored', async (t) => {
    const files = createFailingFiles()
    const service = await start(t, { files, flags: ['--metrics-public'] })
    const ask = createClient(service.url)
    const read = async () => new Samples((await ask('GET', '/metrics')).text)
    const headers = { Authorization: await service.bearer() }
    files.before = (operation, path) => {
      if (/revocations/.test(path) && (operation === 'datasync' || operation === 'rename'))
        throw systemError('EIO', path)
    }
    assert.equal((await ask('POST', '/logout', { headers })).status, 503)
    assert.equal((await read()).get('connbook_writable'), 0)
    files.before = () => {}
    await until(() => service.log.events.includes('storage_recovered'))
    assert.equal((await read()).get('connbook_writable'), 1)
  })
})
