import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Problem } from '../../src/http/problem.ts'
import { healthHandlers } from '../../src/resources/health.ts'

describe('health', () => {
  let reason: string | undefined
  let unreadable: string | undefined
  const ready = (query = '') => readyz({ query })
  const { healthz, readyz } = healthHandlers(
    () => reason,
    () => unreadable,
  )

  it('is good while the process answers, and is never cached', () => {
    reason = 'the disk failed'
    const { status, headers, body } = healthz()
    assert.deepEqual([status, headers['Cache-Control'], body], [200, 'no-store', '{"status":"ok"}'])
  })

  it('is ready when the service can accept changes', () => {
    reason = undefined
    const { status, headers, body } = ready()
    assert.deepEqual([status, headers['Cache-Control'], body], [200, 'no-store', '{"status":"ready"}'])
  })

  it('is 503 with the reason and Retry-After whenever the service cannot accept changes', () => {
    for (const said of ['the records are being read', 'the disk failed']) {
      reason = said
      assert.throws(ready, (error) => {
        assert.ok(error instanceof Problem)
        assert.deepEqual([error.status, error.code, error.message], [503, 'not_ready', said])
        assert.equal(error.headers['Retry-After'], '5')
        return true
      })
    }
  })

  it('can be asked for reads alone, with whatever else a probe sends', () => {
    reason = 'etcd does not answer'
    for (const query of ['reads=1', 't=5&reads=1']) assert.equal(ready(query).status, 200)
    for (const query of ['reads=0', 'reads', 'areads=1', 't=5']) assert.throws(() => ready(query), Problem)
    unreadable = 'cut off'
    assert.throws(() => ready('reads=1'), /cut off/)
    unreadable = undefined
  })
})
