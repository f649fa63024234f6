import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { FREE_FAILURES, Throttle } from '../../src/auth/throttle.ts'
import { TooManyAttemptsError } from '../../src/errors.ts'
import { holdClock } from '../support/held-clock.ts'
import { holdFor } from '../support/properties/hold-property.ts'

/** Eight groups as the system writes them: lower case, no leading zeros, the longest run of zeros as `::`. */
function formatAddress(groups: readonly number[]): string {
  let [best, bestLength] = [-1, 1]
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (groups[start + length] === 0) length += 1
    if (length > bestLength) [best, bestLength] = [start, length]
  }
  const write = (some: readonly number[]) => some.map((group) => group.toString(16)).join(':')
  return best === -1
    ? write(groups)
    : `${write(groups.slice(0, best))}::${write(groups.slice(best + bestLength))}`
}

const group = fc.oneof(fc.constantFrom(0, 0, 0, 1, 0xfe80, 0xffff), fc.nat({ max: 0xffff }))
const half = fc.tuple(group, group, group, group)
const octet = fc.nat({ max: 255 })
const filled = fc.integer({ min: 1, max: 0xffff })
const network = fc.tuple(filled, filled, filled, filled)

/** Whether failures from one address throttle another. */
function isSamePlace(address: string, other: string): boolean {
  const throttle = new Throttle(holdClock().make())
  for (let i = 0; i < FREE_FAILURES; i++) throttle.begin(address, 'admin').fail()
  try {
    throttle.begin(other, 'admin').cancel()
    return false
  } catch (error) {
    if (error instanceof TooManyAttemptsError) return true
    throw error
  }
}

describe('attempts are counted together', () => {
  it('from IPv6 addresses of one /64, and from no others', (t) => {
    // The two networks are equal, or differ in one group.
    const networks = fc.tuple(network, fc.nat({ max: 3 }), filled).map(([first, at, other]) => {
      return [first, first.map((each, i) => (i === at ? other : each))]
    })
    const either = networks.chain((pair) => fc.constantFrom(pair, [pair[0] ?? [], pair[0] ?? []]))
    const zones = fc.constantFrom('', '', '%eth0')
    holdFor(t, fc.tuple(either, half, half, zones), ([[first = [], second = []], host, otherHost, zone]) => {
      const isSame = first.every((each, i) => each === second[i])
      const address = formatAddress([...first, ...host])
      const other = formatAddress([...second, ...otherHost])
      assert.equal(isSamePlace(address + zone, other), isSame, `${address} ${other}`)
    })
  })

  it('from one IPv4 address, and from no others', (t) => {
    const octets = fc.tuple(octet, octet, octet, octet)
    holdFor(t, fc.tuple(octets, fc.nat({ max: 3 }), octet), ([first, at, other]) => {
      const second = first.map((each, i) => (i === at ? other : each))
      assert.equal(isSamePlace(first.join('.'), second.join('.')), first[at] === other)
    })
  })
})
