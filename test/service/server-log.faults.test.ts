import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { LOG_FLUSH_MS } from '../../src/service/server-log.ts'
import { startUnread } from './logged-server.ts'

it('a log that nobody ever reads delays the exit by a second', async (t) => {
  const { askMany, stop } = await startUnread(t)
  await askMany()
  const began = performance.now()
  await stop()
  const took = performance.now() - began
  assert.ok(took > 0.9 * LOG_FLUSH_MS && took < 10 * LOG_FLUSH_MS, `${took} ms`)
})
