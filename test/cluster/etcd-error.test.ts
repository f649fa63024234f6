import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EtcdError, type EtcdReason, explainRefusal, readRefusal } from '../../src/cluster/etcd-error.ts'

/** Body, status, what it means; and whether it is certain that nothing was done. As etcd 3.4 and 3.5 say it. */
const refusals: readonly (readonly [body: string, status: number, reason: EtcdReason, isUndone: boolean])[] =
  [
    [json('etcdserver: mvcc: database space exceeded', 8), 429, 'no_space', true],
    [json('etcdserver: request is too large', 3), 400, 'too_large', true],
    [json('etcdserver: too many operations in txn request', 3), 400, 'too_large', true],
    [json('grpc: received message larger than max (2200009 vs. 2097152)', 8), 429, 'too_large', true],
    [json('etcdserver: mvcc: required revision has been compacted', 11), 400, 'compacted', true],
    [json('etcdserver: requested lease not found', 5), 404, 'no_lease', true],
    [json('etcdserver: permission denied', 7), 403, 'denied', true],
    [json('etcdserver: invalid auth token', 16), 401, 'login_failed', true],
    [json('etcdserver: user name is empty', 3), 400, 'login_failed', true],
    [json('etcdserver: revision of auth store is old', 3), 400, 'login_failed', true],
    [json('etcdserver: authentication failed, invalid user ID or password', 3), 400, 'login_failed', true],
    [json('something new', 16), 401, 'login_failed', true],
    [
      'CommonName of client sending a request against gateway will be ignored and not used as expected\n',
      400,
      'common_name',
      true,
    ],
    [json('etcdserver: no leader', 14), 503, 'unavailable', true],
    [json('etcdserver: too many requests', 8), 429, 'unavailable', true],
    [json('raft proposal dropped', 2), 500, 'unavailable', true],
    [json('etcdserver: request timed out', 14), 503, 'unavailable', false],
    [json('etcdserver: request timed out, possibly due to connection lost', 14), 503, 'unavailable', false],
    [json('etcdserver: leader changed', 14), 503, 'unavailable', false],
    [json('etcdserver: server stopped', 14), 503, 'unavailable', false],
    [json('transport is closing', 14), 503, 'unavailable', false],
    [json('context deadline exceeded', 2), 500, 'unavailable', false],
    [json('something new', 4), 504, 'unavailable', false],
    ['<html>502 Bad Gateway</html>', 502, 'unavailable', false],
    ['', 503, 'unavailable', false],
    [json('etcdserver: duplicate key given in txn request', 3), 400, 'unexpected', true],
    [json('etcdserver: mvcc: required revision is a future revision', 11), 400, 'unexpected', true],
    [json('etcdserver: corrupt cluster', 15), 500, 'unexpected', true],
    [json('something new', 13), 500, 'unexpected', false],
    ['Not Found\n', 404, 'unexpected', false],
  ]

function json(message: string, code: number): string {
  return JSON.stringify({ error: message, message, code })
}

describe('a refusal of etcd', () => {
  for (const [body, status, reason, isUndone] of refusals)
    it(`is ${reason}: ${status} ${body.trim().slice(0, 100)}`, () =>
      assert.deepEqual(explainRefusal(readRefusal(body, status)), { reason, isUndone }))

  it('is read in both shapes, with what follows the JSON of some', () => {
    const refusal = { message: 'etcdserver: no leader', code: 14 }
    const streamed = { grpc_code: 14, http_code: 503, message: refusal.message, http_status: 'x' }
    assert.deepEqual(readRefusal(JSON.stringify({ error: streamed }), 503), refusal)
    assert.deepEqual(readRefusal(`${json(refusal.message, 14)}\nGrpc-Trailer: x`, 503), refusal)
    assert.deepEqual(readRefusal('  Not Found\n', 404), { message: 'status 404: Not Found', code: 0 })
    assert.deepEqual(readRefusal('x'.repeat(1000), 400).message.length, 'status 400: '.length + 200)
    assert.deepEqual(readRefusal('{"a":1}', 200 + 99).message, 'status 299: {"a":1}')
  })

  it('names member, words and remedy in its error', () => {
    const error = new EtcdError('http://etcd:2379', 'denied', 'etcdserver: permission denied', {
      isUndone: true,
    })
    assert.equal(
      error.message,
      'etcd at http://etcd:2379: etcdserver: permission denied; give the role of the user readwrite on the prefix, with its end',
    )
  })
})
