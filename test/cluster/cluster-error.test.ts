import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clusterFailureOf, missingKey } from '../../src/cluster/cluster-error.ts'
import { EtcdError, type EtcdReason } from '../../src/cluster/etcd-error.ts'
import { asStorageError } from '../../src/cluster/settled-transaction.ts'

const failures: Readonly<Record<EtcdReason, ReturnType<typeof clusterFailureOf>>> = {
  unreachable: 'not_reached',
  timed_out: 'not_reached',
  unavailable: 'not_reached',
  tls: 'not_reached',
  unexpected: 'not_reached',
  denied: 'not_let_in',
  login_failed: 'not_let_in',
  common_name: 'not_let_in',
  no_space: undefined,
  too_large: undefined,
  compacted: undefined,
  no_lease: undefined,
}

describe('the failure of a cluster', () => {
  for (const [reason, failure] of Object.entries(failures))
    it(`${reason}: is ${failure ?? 'none of its own'}, of a reading and of a change`, () => {
      const error = new EtcdError('http://etcd.example', reason as EtcdReason, 'no', { isUndone: true })
      assert.equal(clusterFailureOf(error), failure)
      assert.equal(clusterFailureOf(asStorageError(error, 'the accounts', false)), failure)
      assert.equal(clusterFailureOf(asStorageError(error, 'the accounts', true)), failure)
    })

  it('is damage for a key that is missing, and nothing for other errors', () => {
    assert.equal(
      clusterFailureOf(missingKey('/connbook/seq', { endpoint: 'http://etcd.example' })),
      'damaged',
    )
    assert.equal(clusterFailureOf(new Error('no')), undefined)
  })
})
