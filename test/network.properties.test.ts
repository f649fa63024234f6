import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { networkOf, parseIPv6 } from '../src/network.ts'
import { holdFor } from './support/properties/hold-property.ts'

const group = fc.oneof(fc.constant(0), fc.constant(0xffff), fc.nat({ max: 0xffff }))
const groups = fc.array(group, { minLength: 8, maxLength: 8 })

interface Style {
  readonly width: number
  readonly isUpper: boolean
  /** Where to look for a run of zeros to leave out. */
  readonly from: number
  readonly hasDotted: boolean
  readonly zone: string
}

const style: fc.Arbitrary<Style> = fc.record({
  width: fc.constantFrom(1, 4),
  isUpper: fc.boolean(),
  from: fc.nat({ max: 8 }),
  hasDotted: fc.boolean(),
  zone: fc.constantFrom('', '%eth0', '%2'),
})

/** One of the spellings of RFC 4291 section 2.2. */
function spell(all: readonly number[], { width, isUpper, from, hasDotted, zone }: Style): string {
  const texts = all.map((each) => each.toString(16).padStart(width, '0'))
  const [high = 0, low = 0] = all.slice(6)
  const ending = [high >> 8, high & 255, low >> 8, low & 255].join('.')
  const parts = hasDotted ? [...texts.slice(0, 6), ending] : texts
  const start = all.slice(0, hasDotted ? 6 : 8).indexOf(0, from)
  let end = start
  while (start !== -1 && end < (hasDotted ? 6 : 8) && all[end] === 0) end += 1
  const text =
    start === -1 ? parts.join(':') : `${parts.slice(0, start).join(':')}::${parts.slice(end).join(':')}`
  return (isUpper ? text.toUpperCase() : text) + zone
}

describe('an IPv6 address', () => {
  it('has the same bytes and the same network in each spelling', (t) => {
    holdFor(t, fc.tuple(groups, style, style), ([all, one, other]) => {
      const bytes = Buffer.from(all.flatMap((each) => [each >> 8, each & 255]))
      assert.deepEqual(parseIPv6(spell(all, one)), bytes, spell(all, one))
      assert.equal(networkOf(spell(all, one)), networkOf(spell(all, other)))
    })
  })

  it('shares its network with the addresses of its /64 only', (t) => {
    holdFor(t, fc.tuple(groups, groups, style, style), ([all, others, one, other]) => {
      const isMapped = (some: readonly number[]) => some.slice(0, 6).join() === '0,0,0,0,0,65535'
      const neighbour = [...all.slice(0, 4), ...others.slice(4)]
      fc.pre(!isMapped(all) && !isMapped(others) && !isMapped(neighbour))
      assert.equal(networkOf(spell(all, one)), networkOf(spell(neighbour, other)))
      const isSame = all.slice(0, 4).join() === others.slice(0, 4).join()
      assert.equal(networkOf(spell(all, one)) === networkOf(spell(others, other)), isSame)
    })
  })
})
