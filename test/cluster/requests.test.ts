import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  authenticateBody,
  endOfPrefix,
  leaseBody,
  modIs,
  put,
  rangeBody,
  remove,
  transactionBody,
  watchBody,
} from '../../src/cluster/requests.ts'

// What etcd makes of them is in test/cluster/gateway.test.ts.
describe('requests to etcd', () => {
  it('are JSON with the members that etcd knows', () => {
    const query = {
      key: '/a',
      end: '/ü',
      limit: 3,
      revision: 7,
      serializable: true,
      keysOnly: true,
      countOnly: true,
    }
    assert.deepEqual(JSON.parse(rangeBody(query)), {
      key: 'L2E=',
      range_end: 'L8O8',
      limit: '3',
      revision: '7',
      serializable: true,
      keys_only: true,
      count_only: true,
    })
    assert.deepEqual(JSON.parse(rangeBody({ key: '/a', serializable: false })), { key: 'L2E=' })
    assert.deepEqual(JSON.parse(rangeBody({ key: '/a', end: '/b', newestOnly: true })), {
      key: 'L2E=',
      range_end: 'L2I=',
      limit: '1',
      sort_target: 'MOD',
      sort_order: 'DESCEND',
    })
    assert.deepEqual(JSON.parse(leaseBody(60)), { TTL: '60' })
    assert.deepEqual(JSON.parse(authenticateBody('ü', '"')), { name: 'ü', password: '"' })
    assert.deepEqual(JSON.parse(watchBody('/a', '/b', 7, true)), {
      create_request: {
        key: 'L2E=',
        range_end: 'L2I=',
        start_revision: '7',
        fragment: true,
        prev_kv: true,
      },
    })
    const transaction = { compare: [modIs('/a', 0)], success: [put('/a', 'x', '5')], failure: [remove('/a')] }
    assert.deepEqual(JSON.parse(transactionBody(transaction)), {
      compare: [{ target: 'MOD', result: 'EQUAL', key: 'L2E=', mod_revision: '0' }],
      success: [{ request_put: { key: 'L2E=', value: 'eA==', lease: '5' } }],
      failure: [{ request_delete_range: { key: 'L2E=' } }],
    })
  })

  it('end a range of a prefix after its last key', () => {
    assert.equal(endOfPrefix('/connbook/'), '/connbook0')
  })
})
