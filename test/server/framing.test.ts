import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HEADER_BYTES_MAX } from '../../src/limits.ts'
import { findFramingFault } from '../../src/server/framing.ts'
import { type Head, incomingOf } from './incoming-of.ts'

type Field = NonNullable<Head['fields']>[number]

/** The fault of a sound GET in HTTP/1.1 after the given changes. */
const faultOf = (head: Head) => findFramingFault(incomingOf(head))?.code
const withField = (...field: Field) => faultOf({ fields: [['Host', 'a'], field] })

describe('findFramingFault', () => {
  it('finds none in a sound request', () => {
    assert.equal(faultOf({}), undefined)
    assert.equal(faultOf({ url: '/a//b?c' }), undefined)
    assert.equal(faultOf({ url: 'http://a/b' }), undefined)
    assert.equal(faultOf({ httpVersion: '1.0', fields: [] }), undefined)
    assert.equal(withField('Transfer-Encoding', 'Chunked'), undefined)
    assert.equal(withField('Expect', '100-Continue'), undefined)
  })

  it('finds an unsupported version, target or host', () => {
    for (const httpVersion of ['0.9', '1.2', '2.0'])
      assert.equal(faultOf({ httpVersion }), 'unsupported_version', httpVersion)
    for (const url of ['', '*', '//a', 'http://b/', '/a#b'])
      assert.equal(faultOf({ url }), 'malformed_target', url)
    assert.equal(faultOf({ fields: [] }), 'missing_host')
    for (const host of ['a b', 'a@b', 'a/b', '[a', 'a:b'])
      assert.equal(faultOf({ fields: [['Host', host]] }), 'malformed_host', host)
  })

  it('finds a bad host each time, whatever hosts it checked before', () => {
    const hosts = ['good', 'a b', 'a b', 'good', 'better', 'good']
    assert.deepEqual(
      hosts.map((host) => faultOf({ fields: [['Host', host]] })),
      [undefined, 'malformed_host', 'malformed_host', undefined, undefined, undefined],
    )
  })

  it('finds a repeated single-valued field, and no other repeated field', () => {
    for (const name of ['HOST', 'authorization', 'Content-Length', 'Origin']) {
      const fields: Field[] = [
        ['Host', 'a'],
        [name, '1'],
        [name.toLowerCase(), '1'],
      ]
      assert.equal(faultOf({ fields }), 'doubled_header', name)
    }
    const cookies: Field[] = [
      ['Host', 'a'],
      ['Cookie', 'a=b'],
      ['Cookie', 'c=d'],
    ]
    assert.equal(faultOf({ fields: cookies }), undefined)
  })

  it('finds a coding other than chunked, and any in HTTP/1.0', () => {
    assert.equal(withField('Transfer-Encoding', 'gzip, chunked'), 'unsupported_transfer_coding')
    const chunked = { httpVersion: '1.0', fields: [['Transfer-Encoding', 'chunked']] } as const
    assert.equal(faultOf(chunked), 'unsupported_transfer_coding')
  })

  it('finds an expectation that cannot be met', () =>
    assert.equal(withField('Expect', '200-ok'), 'unknown_expectation'))

  it('counts the separators between many names and values too', () => {
    const count = 150
    // Each field takes four bytes beyond its name and value.
    const spare = HEADER_BYTES_MAX - count * ('x'.length + 4) - 'Hosta'.length - 4
    const fieldsOf = (bytes: number): Field[] => {
      const values = Array.from({ length: count }, (_, i) => (i === 0 ? 'v'.repeat(bytes) : ''))
      return [['Host', 'a'], ...values.map((value) => ['x', value] as const)]
    }
    assert.equal(faultOf({ fields: fieldsOf(spare) }), undefined)
    assert.equal(faultOf({ fields: fieldsOf(spare + 1) }), 'header_too_large')
  })
})
