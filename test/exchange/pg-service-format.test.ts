import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pgServiceFormat } from '../../src/exchange/pg-service-format.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

const record = (name: string, fields = {}) => new Configuration(1, draft(name, fields))

describe('a record in a service file', () => {
  it('is a section of its own, with the address without brackets', () => {
    assert.equal(
      pgServiceFormat.encode(record('db/main', { hostname: '[::1]', port: 5432 })),
      '[db/main]\nhost=::1\nport=5432\nuser=ops\n',
    )
    assert.equal(pgServiceFormat.between, '\n')
  })

  it('is left out when libpq would read a different name or username', () => {
    const reasonOf = (name: string, username = 'ops') =>
      pgServiceFormat.obstacle?.(record(name, { username }))
    assert.match(reasonOf('a]b') ?? '', /^has a name with "]"/)
    for (const username of ['ops ', 'ops\u00a0'])
      assert.match(reasonOf('a', username) ?? '', /^has a username that ends in white space/)
    assert.equal(reasonOf('[a', ' ops'), undefined)
  })

  it('is left out when one of its lines exceeds the limit of libpq, in bytes', () => {
    const reasonOf = (name: string, username = 'ops') =>
      pgServiceFormat.obstacle?.(record(name, { username }))
    const long = (bytes: number) => 'é'.repeat(bytes / 2) + 'a'.repeat(bytes % 2)
    assert.equal(reasonOf(long(1_022 - 3)), undefined)
    assert.equal(reasonOf(long(1_022 - 2)), 'has a name too long for a service file')
    assert.equal(reasonOf('a', long(1_022 - 6)), undefined)
    assert.equal(reasonOf('a', long(1_022 - 5)), 'has a username too long for a service file')
  })
})
