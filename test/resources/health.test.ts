import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Problem } from '../../src/http/problem.ts'
import { healthHandlers } from '../../src/resources/health.ts'

describe('health', () => {
  let reason: string | undefined
  const { healthz, readyz } = healthHandlers(() => reason)

  it('is good while the process answers, and is never cached', () => {
    reason = 'the disk failed'
    const { status, headers, body } = healthz()
    assert.deepEqual([status, headers['Cache-Control'], body], [200, 'no-store', '{"status":"ok"}'])
  })

  it('is ready when the service can accept changes', () => {
    reason = undefined
    const { status, headers, body } = readyz()
    assert.deepEqual([status, headers['Cache-Control'], body], [200, 'no-store', '{"status":"ready"}'])
  })

  it('is 503 with the reason and Retry-After whenever the service cannot accept changes', () => {
    for (const said of ['the records are being read', 'the disk failed']) {
      reason = said
      assert.throws(readyz, (error) => {
        assert.ok(error instanceof Problem)
        assert.deepEqual([error.status, error.code, error.message], [503, 'not_ready', said])
        assert.equal(error.headers['Retry-After'], '5')
        return true
      })
    }
  })
})
