import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  authenticateBody,
  endOfPrefix,
  leaseBody,
  modIs,
  parseAnswer,
  put,
  rangeBody,
  readLeaseId,
  readRangeAnswer,
  readToken,
  readTransactionAnswer,
  readWatchFrame,
  remove,
  transactionBody,
  watchBody,
} from '../../src/cluster/messages.ts'

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

const base64 = (text: string) => Buffer.from(text).toString('base64')

const header = {
  cluster_id: '12626566883335493638',
  member_id: '1',
  revision: '9007199254740991',
  raft_term: '2',
}

const kv = { key: base64('/a'), create_revision: '2', mod_revision: '3', version: '2', value: base64('ü') }

const read = {
  key: '/a',
  value: 'ü',
  createRevision: 2,
  modRevision: 3,
  version: 2,
  lease: undefined,
}

describe('an answer of etcd', () => {
  it('may leave out whatever is zero or empty', () => {
    assert.deepEqual(readRangeAnswer({}), { revision: 0, kvs: [], more: false, count: 0 })
    assert.deepEqual(readRangeAnswer({ header, kvs: [{ key: kv.key }], count: '1' }), {
      revision: Number.MAX_SAFE_INTEGER,
      kvs: [{ key: '/a', value: '', createRevision: 0, modRevision: 0, version: 0, lease: undefined }],
      more: false,
      count: 1,
    })
    assert.deepEqual(readTransactionAnswer({ header }), {
      revision: Number.MAX_SAFE_INTEGER,
      succeeded: false,
      answers: [],
    })
  })

  it('has the answer to each operation of a transaction, and of those within', () => {
    const answers = readTransactionAnswer({
      header,
      succeeded: true,
      responses: [
        { response_put: { header: { revision: '3' } } },
        { response_range: { header: { revision: '3' }, kvs: [kv], more: true, count: '2' } },
        { response_delete_range: { header: { revision: '3' } } },
        { response_delete_range: { header: { revision: '3' }, deleted: '4' } },
        { response_txn: { responses: [{ response_put: {} }] } },
      ],
    }).answers
    assert.deepEqual(answers, [
      { kind: 'put' },
      { kind: 'range', range: { revision: 3, kvs: [read], more: true, count: 2 } },
      { kind: 'delete', deleted: 0 },
      { kind: 'delete', deleted: 4 },
      { kind: 'transaction', transaction: { revision: 0, succeeded: false, answers: [{ kind: 'put' }] } },
    ])
  })

  it('gives the lease of a key as text, because it can be longer than a number', () => {
    const lease = '7587870394302431234'
    assert.equal(readRangeAnswer({ kvs: [{ ...kv, lease }] }).kvs[0]?.lease, lease)
    assert.equal(readRangeAnswer({ kvs: [{ ...kv, lease: '0' }] }).kvs[0]?.lease, undefined)
    assert.equal(readLeaseId({ ID: lease, TTL: '5' }), lease)
  })

  it('is refused if it is not what it should be', () => {
    assert.deepEqual(parseAnswer('{"a":1}'), { a: 1 })
    for (const text of ['', '[]', 'null', '1', '{"a":', '{} Secret'])
      assert.throws(() => parseAnswer(text), /^SyntaxError: the answer is not a JSON object$/, text)
    assert.throws(() => readRangeAnswer({ count: '9007199254740992' }), SyntaxError)
    assert.throws(() => readRangeAnswer({ count: 'many' }), SyntaxError)
    assert.throws(() => readLeaseId({}), SyntaxError)
    assert.throws(() => readToken({}), SyntaxError)
  })
})

describe('a message of a watch', () => {
  it('reports that it has begun, and puts and deletions', () => {
    assert.deepEqual(readWatchFrame({ result: { header, created: true } }), {
      kind: 'created',
      revision: Number.MAX_SAFE_INTEGER,
    })
    const events = [
      { kv },
      { type: 'PUT', kv, prev_kv: kv },
      { type: 'DELETE', kv: { key: kv.key, mod_revision: '5' }, prev_kv: kv },
      { type: 'DELETE', kv: { key: kv.key, mod_revision: '5' } },
    ]
    assert.deepEqual(readWatchFrame({ result: { header: { revision: '5' }, events } }), {
      kind: 'events',
      revision: 5,
      events: [
        { kind: 'put', kv: read, previous: undefined },
        { kind: 'put', kv: read, previous: read },
        { kind: 'delete', key: '/a', modRevision: 5, previous: read },
        { kind: 'delete', key: '/a', modRevision: 5, previous: undefined },
      ],
    })
  })

  it('reports whether more of the same belongs to it', () => {
    assert.deepEqual(readWatchFrame({ result: { header, events: [{ kv }], fragment: true } }), {
      kind: 'fragment',
      events: [{ kind: 'put', kv: read, previous: undefined }],
    })
  })

  it('reports what was compacted, although it is canceled then', () => {
    assert.deepEqual(readWatchFrame({ result: { header, canceled: true, compact_revision: '7' } }), {
      kind: 'compacted',
      compactRevision: 7,
    })
  })

  it('reports that it is canceled, although it is created then', () => {
    const result = {
      header,
      watch_id: '-1',
      created: true,
      canceled: true,
      cancel_reason: 'permission denied',
    }
    assert.deepEqual(readWatchFrame({ result }), {
      kind: 'refused',
      refusal: { message: 'the watch was canceled: permission denied', code: 14 },
    })
  })

  it('reports an error in both shapes', () => {
    const refusal = { message: 'etcdserver: no leader', code: 14 }
    for (const error of [
      { error: { grpc_code: 14, http_code: 503, message: 'etcdserver: no leader', http_status: 'x' } },
      { error: { code: 14, message: 'etcdserver: no leader', details: [] } },
      { error: 'etcdserver: no leader', message: 'etcdserver: no leader', code: 14 },
      { error: 'etcdserver: no leader', code: 14 },
      { message: 'etcdserver: no leader', code: 14 },
    ])
      assert.deepEqual(readWatchFrame(error), { kind: 'refused', refusal })
    assert.deepEqual(readWatchFrame({}), {
      kind: 'refused',
      refusal: { message: 'a message without result', code: 0 },
    })
  })
})
