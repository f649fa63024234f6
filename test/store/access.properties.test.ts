import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { NotGrantedError } from '../../src/errors.ts'
import { type Access, accessOf } from '../../src/store/access.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { parseGrants } from '../../src/store/grants.ts'
import { matcherOf } from '../../src/store/record-filter.ts'
import { UnknownNameError } from '../../src/store/refusals.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { draft } from '../support/store.ts'

const records = fc
  .record({
    name: fc.constantFrom('a', 'a/', 'a/b', 'a/b/c', 'b/', 'ä/='),
    labels: fc.dictionary(fc.constantFrom('team', 'env', 'group'), fc.constantFrom('a', 'b', 'a, b', '')),
  })
  .map(({ name, labels }) => new Configuration(1, draft(name, { labels })))

interface Plain {
  readonly right: 'read' | 'write'
  readonly prefix?: string | undefined
  readonly labels: readonly string[]
}

const grants: fc.Arbitrary<Plain> = fc.record({
  right: fc.constantFrom('read' as const, 'write' as const),
  prefix: fc.option(fc.constantFrom('a', 'a/', 'a/b', 'ä/='), { nil: undefined }),
  labels: fc.array(
    fc.constantFrom('team', 'team=a', 'team=b', 'env=', '!env', 'team!=a', 'group=b', 'group!=a'),
    { maxLength: 3 },
  ),
})

/** As somebody may write it, not in its one form. */
function textOf({ right, prefix, labels }: Plain): string {
  const filters = [...labels.map((label) => `label=${encodeURIComponent(label)}`)]
  if (prefix !== undefined) filters.push(`prefix=${encodeURIComponent(prefix)}`)
  return filters.length === 0 ? right : `${right}?${filters.join('&')}`
}

/** A plain reading of the page: what a grant is about. */
function keeps({ prefix = '', labels }: Plain, record: Configuration): boolean {
  const has = (label: string) => {
    const [key = '', value] = label.split('=')
    const own = record.labels?.[key]
    if (own === undefined || value === undefined) return own !== undefined
    return own === value || (key === 'group' && own.split(',').some((one) => one.trim() === value))
  }
  const wanted = labels.filter((label) => !label.includes('!'))
  const unwanted = labels.filter((label) => label.includes('!')).map((label) => label.replace('!', ''))
  const keys = new Set(wanted.map((label) => label.split('=')[0]))
  const hasWanted = [...keys].every((key) =>
    wanted.some((label) => label.split('=')[0] === key && has(label)),
  )
  return record.name.startsWith(prefix) && hasWanted && !unwanted.some(has)
}

function accessWith(plain: readonly Plain[]): Access {
  const access = accessOf({ principal: { grants: parseGrants(plain.map(textOf)) } })
  assert.ok(access)
  return access
}

const several = fc.array(grants, { minLength: 1, maxLength: 4 })

describe('access by grants', () => {
  it('shows what one of them keeps, and allows changes of what those to write keep before and after', (t) => {
    holdFor(t, fc.tuple(several, records, records), ([plain, before, after]) => {
      const access = accessWith(plain)
      const sees = (record: Configuration) => plain.some((one) => keeps(one, record))
      const writes = (record: Configuration) =>
        plain.some((one) => one.right === 'write' && keeps(one, record))
      assert.equal(access.sees(before), sees(before))
      for (const [one, other] of [
        [before, after],
        [undefined, after],
        [before, undefined],
      ] as const) {
        const may = [one, other].every((record) => record === undefined || writes(record))
        assert.equal(access.mayChange(one, other), may)
        const check = () => access.checkChange(one, other)
        if (one !== undefined && !sees(one)) assert.throws(check, UnknownNameError)
        else if (!may) assert.throws(check, NotGrantedError)
        else check()
      }
    })
  })

  it('is the same whatever the order of the grants, and of what they say', (t) => {
    holdFor(t, several, (plain) => {
      const turned = plain.toReversed().map((one) => ({ ...one, labels: one.labels.toReversed() }))
      assert.equal(accessWith(turned).key, accessWith([...plain, ...turned]).key)
    })
  })

  it('limits every filter', (t) => {
    const filters = fc.record(
      { prefix: fc.constantFrom('a', 'a/b', 'b'), hostname: fc.constantFrom('host', 'other') },
      { requiredKeys: [] },
    )
    holdFor(t, fc.tuple(several, filters, records), ([plain, filter, record]) => {
      const access = accessWith(plain)
      const expected = access.sees(record) && matcherOf(filter)(record)
      assert.equal(matcherOf(access.limit(filter) ?? {})(record), expected)
      assert.equal(matcherOf(access.limit(undefined) ?? {})(record), access.sees(record))
    })
  })

  it('shows of a change what is seen of it', (t) => {
    const maybe = fc.option(records, { nil: undefined })
    holdFor(t, fc.tuple(several, maybe, maybe), ([plain, before, after]) => {
      const access = accessWith(plain)
      const seen = access.seenChangeOf({
        before,
        after,
        place: 1,
        together: { revision: 1, first: 1, last: 1 },
      })
      assert.equal(seen?.before, access.seenOf(before))
      assert.equal(seen?.after, access.seenOf(after))
    })
  })

  it('gives other tags than other grants, and than none', () => {
    const of = (grant: string) => accessOf({ principal: { grants: [grant] } })?.storeOf('1234567890')
    const stores = [of('read'), of('write'), of('read?prefix=a'), '12345678']
    assert.equal(new Set(stores).size, 4)
    assert.equal(of('read'), of('read'))
    for (const store of stores) assert.match(store ?? '', /^[0-9a-z]{8}$/)
    assert.equal(accessOf({ principal: {} }), undefined)
    assert.equal(accessOf({}), undefined)
  })
})
