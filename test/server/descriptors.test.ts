import '../support/node-version.ts'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { describe, it, type TestContext } from 'node:test'
import {
  CONNECTIONS_MAX,
  DESCRIPTORS_RESERVED,
  PLAIN_CONNECTION_BYTES,
  TLS_CONNECTION_BYTES,
} from '../../src/limits.ts'
import { findConnectionsLimit } from '../../src/server/descriptors.ts'

const OPEN = 20

/** A machine that reports these limits, on which this process has OPEN files open. */
function holdTo(t: TestContext, limits: string | undefined) {
  t.mock.method(fs, 'readFileSync', () => limits ?? assert.fail('there is no /proc'))
  t.mock.method(fs, 'readdirSync', () => Array.from({ length: OPEN }, String))
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
}

const limitsOf = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft.padEnd(20)} 1048576              files     \n`

describe('findConnectionsLimit', () => {
  const taken = OPEN + DESCRIPTORS_RESERVED
  const rows: [
    what: string,
    limits: string | undefined,
    expected: ReturnType<typeof findConnectionsLimit>,
  ][] = [
    ['returns the maximum if no limit is known', undefined, { connections: CONNECTIONS_MAX }],
    ['returns the maximum if there is no limit', limitsOf('unlimited'), { connections: CONNECTIONS_MAX }],
    [
      'returns the maximum if enough files may be open',
      limitsOf(String(CONNECTIONS_MAX + taken)),
      { connections: CONNECTIONS_MAX },
    ],
    [
      'leaves room for files if the limit is lower',
      limitsOf(String(CONNECTIONS_MAX + taken - 1)),
      { connections: CONNECTIONS_MAX - 1, openFiles: CONNECTIONS_MAX + taken - 1 },
    ],
    ['returns at least one', limitsOf('10'), { connections: 1, openFiles: 10 }],
  ]
  for (const [what, limits, expected] of rows) {
    it(what, (t) => {
      holdTo(t, limits)
      assert.deepEqual(findConnectionsLimit(false, Number.POSITIVE_INFINITY), expected)
    })
  }

  const connections = 100
  for (const [what, limits] of [
    ['unknown', undefined],
    ['none', limitsOf('unlimited')],
    ['just enough', limitsOf(String(connections + taken))],
  ])
    it(`leaves memory for more than connections if the limit on files is ${what}`, (t) => {
      holdTo(t, limits)
      for (const [isTls, each] of [
        [false, PLAIN_CONNECTION_BYTES],
        [true, TLS_CONNECTION_BYTES],
      ] as const)
        assert.deepEqual(findConnectionsLimit(isTls, connections * each + 1), { connections })
    })
})
