import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gauge } from '../../src/metrics/family.ts'
import { RecentFigures } from '../../src/metrics/recent-figures.ts'
import { statusHandlers } from '../../src/resources/status.ts'
import { version } from '../../src/version.ts'
import { getToken } from '../support/api.ts'
import { createClient } from '../support/http-client.ts'
import { client, start } from '../support/service.ts'

interface Shown {
  readonly started: string
  readonly disk_free_bytes: number
  readonly moments: readonly { readonly records: number; readonly memory_bytes: number }[]
}

function setUp({ reason, free }: { reason?: string; free?: number } = {}) {
  const families = [
    gauge('connbook_writable', 'Whether it takes changes.', () => (reason === undefined ? 1 : 0)),
    gauge('process_start_time_seconds', 'Start.', () => 1_000),
    gauge('connbook_backup_last_timestamp_seconds', 'Backup.', () => undefined),
    gauge('connbook_certificate_end_timestamp_seconds', 'End.', () => 2_000),
  ]
  const recent = new RecentFigures(families, () => 0)
  const handlers = statusHandlers({ recent, whyNotReady: () => reason, freeBytes: async () => free })
  return async (query = '') => JSON.parse(String((await handlers.read({ query })).body))
}

describe('the status', () => {
  it('says whether the server is ready, since when it runs, and what there is to look after', async () => {
    const read = setUp({ free: 123 })
    assert.deepEqual(await read(), {
      version,
      ready: true,
      writable: true,
      started: '1970-01-01T00:16:40.000Z',
      certificate_end: '1970-01-01T00:33:20.000Z',
      disk_free_bytes: 123,
      moment_seconds: 10,
      moments: [],
    })
  })

  it('says why it is not ready, and leaves out what cannot be found out', async () => {
    const { ready, writable, reason, ...rest } = await setUp({ reason: 'The disk failed' })()
    assert.deepEqual([ready, writable, reason], [false, false, 'The disk failed'])
    assert.ok(!('disk_free_bytes' in rest))
  })

  it('has no parameters', async () => {
    await assert.rejects(setUp()('x=1'), { message: 'The query is not valid' })
  })

  it('is there at once after a start, for those who may read', async (t) => {
    const { url } = await start(t)
    const ask = createClient(url)
    assert.equal((await ask('GET', '/v1/status')).status, 403)
    const answer = await ask('GET', '/v1/status', { headers: await getToken(url, client) })
    const { started, disk_free_bytes, moments } = answer.json<Shown>()
    assert.ok(Math.abs(Date.parse(started) - performance.timeOrigin) < 1_000)
    assert.ok(disk_free_bytes > 0)
    assert.equal(moments[0]?.records, 0)
    assert.ok((moments[0]?.memory_bytes ?? 0) > 0)
  })
})
