import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { createTrust, findOrigin, type Network, unmapped } from '../../src/server/proxy-trust.ts'
import { headersOf } from '../support/message.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { isIPv4Address, isIPv6Address } from '../support/properties/reference-hostname.ts'
import { headerText, joined, withoutBlanks } from '../support/properties/texts.ts'

/** The start of `::ffff:0:0/96`: mapped IPv4 addresses (RFC 4291 section 2.5.5.2). */
const MAPPED = 0xffffn << 32n

/** The 128 bits of an address; undefined for any other text. */
function numberOf(text: string): bigint | undefined {
  if (isIPv4Address(text)) return MAPPED | joinedGroups(text.split('.').map(Number), 8n)
  if (!isIPv6Address(text)) return undefined
  const [head = '', tail] = (text.split('%')[0] ?? '').split('::').map(groupsOf)
  const [before, behind] = [head === '' ? [] : head, tail ?? []]
  const zeros = Array<number>(8 - before.length - behind.length).fill(0)
  return joinedGroups([...before, ...zeros, ...behind], 16n)
}

function groupsOf(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}

function joinedGroups(groups: readonly number[], bits: bigint): bigint {
  return groups.reduce((all, group) => (all << bits) | BigInt(group), 0n)
}

function textOf(address: bigint): string {
  const part = (index: number, bits: number) =>
    Number((address >> BigInt(index * bits)) & ((1n << BigInt(bits)) - 1n))
  if (address >> 32n === MAPPED >> 32n) return [3, 2, 1, 0].map((index) => part(index, 8)).join('.')
  return [7, 6, 5, 4, 3, 2, 1, 0].map((index) => part(index, 16).toString(16)).join(':')
}

/** How many of the 128 bits may differ within a network. */
function freeBits({ address, bits }: Network): bigint {
  return BigInt((isIPv4Address(address) ? 32 : 128) - bits)
}

function isTrusted(text: string, networks: readonly Network[]): boolean {
  const address = numberOf(text)
  return (
    address !== undefined &&
    networks.some((network) => {
      const free = freeBits(network)
      return address >> free === (numberOf(network.address) ?? 0n) >> free
    })
  )
}

const network: fc.Arbitrary<Network> = fc.oneof(
  fc.record({ address: fc.ipV4(), bits: fc.integer({ min: 0, max: 32 }) }),
  // Three networks must leave some address outside.
  fc.record({ address: fc.ipV6(), bits: fc.integer({ min: 2, max: 128 }) }),
  fc.constantFrom(
    { address: '127.0.0.1', bits: 32 },
    { address: '10.0.0.0', bits: 8 },
    { address: 'fd00::', bits: 8 },
    { address: '::1', bits: 128 },
    { address: '::ffff:10.0.0.0', bits: 104 },
  ),
)
const networks = fc.array(network, { minLength: 1, maxLength: 3 })
const anyBits = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n })

/** An address in one of the networks. */
function trustedIn(some: readonly Network[]): fc.Arbitrary<string> {
  return fc.tuple(fc.constantFrom(...some), anyBits).map(([one, bits]) => {
    const free = freeBits(one)
    return textOf((((numberOf(one.address) ?? 0n) >> free) << free) | (bits & ((1n << free) - 1n)))
  })
}

/** An address outside all networks, often just outside. */
function untrustedBy(some: readonly Network[]): fc.Arbitrary<string> {
  const outside = trustedIn(some).chain((address) =>
    fc.constantFrom(...some).map((one) => textOf((numberOf(address) ?? 0n) ^ (1n << freeBits(one)))),
  )
  return fc
    .oneof(outside, outside, fc.ipV4(), anyBits.map(textOf))
    .filter((address) => !isTrusted(address, some))
}

/** The forms in which proxies write an address. */
const spelling = fc
  .record({
    blank: fc.constantFrom('', ' ', '  ', '\t', ' \t'),
    end: fc.constantFrom('', '', ' ', '\t'),
    form: fc.constantFrom('plain', 'plain', 'port', 'brackets', 'brackets and port', 'mapped'),
    port: fc.nat({ max: 65_535 }),
  })
  .map(({ blank, end, form, port }) => (address: string) => {
    const isIPv6 = address.includes(':')
    let text = address
    if (form === 'port' && !isIPv6) text = `${address}:${port}`
    if (form === 'brackets' && isIPv6) text = `[${address}]`
    if (form === 'brackets and port' && isIPv6) text = `[${address}]:${port}`
    if (form === 'mapped' && !isIPv6) text = `::ffff:${address}`
    return blank + text + end
  })
const spelled = (address: fc.Arbitrary<string>) =>
  fc.tuple(address, spelling).map(([text, spell]) => spell(text))

const junkPieces = [
  ',',
  ',',
  ', ',
  '192.0.2.1',
  '10.1.2.3',
  '127.0.0.1',
  '::1',
  'fd00::1',
  'unknown',
  '_hidden',
].concat(['[', ']', ':80', '"', ';', 'for=', '%eth0', '::ffff:', '\u00a0', '\t', '__proto__'])
const junk = joined(junkPieces, headerText)
const scheme = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(undefined, 'https', 'http', 'HTTPS', 'http, https', 'https,http\t'),
  },
  { weight: 1, arbitrary: joined(['https', 'http', ',', ' ', '\t', '\u00a0', 's', ':'], headerText, 4) },
)
const isSecure = fc.boolean()

/** The address of one hop without port and brackets; undefined if it has a zone or is not an address. */
function hopOf(text: string): string | undefined {
  let address = withoutBlanks(text)
  const colon = address.lastIndexOf(':')
  const port = address.slice(colon + 1)
  const hasPort = colon !== -1 && port !== '' && port.split('').every((digit) => digit >= '0' && digit <= '9')
  const before = hasPort ? address.slice(0, colon) : address
  if (before.startsWith('[') && before.endsWith(']')) address = before.slice(1, -1)
  else if (isIPv4Address(before)) address = before
  if (numberOf(address) === undefined || address.includes('%')) return undefined
  const dotted = address.slice('::ffff:'.length)
  return address.toLowerCase().startsWith('::ffff:') && isIPv4Address(dotted) ? dotted : address
}

/** The address of the caller, found from the peer on, one proxy after the other. */
function expectedAddress(peer: string, hops: readonly string[], some: readonly Network[]): string {
  const hop = isTrusted(peer, some) ? hopOf(hops.at(-1) ?? '') : undefined
  return hop === undefined ? peer : expectedAddress(hop, hops.slice(0, -1), some)
}

describe('an address', () => {
  it('of mapped IPv4 becomes IPv4, and no other is changed', (t) => {
    const prefix = fc.constantFrom('::ffff:', '::FFFF:')
    const ipv6 = fc.oneof(
      fc.ipV6(),
      anyBits.map(textOf),
      joined(['::ffff:', 'a00:1', '::', '10.0.0.1', '1', '%eth0'], headerText, 3),
    )
    holdFor(t, fc.tuple(prefix, fc.ipV4(), ipv6), ([mapped, ipv4, other]) => {
      assert.equal(unmapped(mapped + ipv4), ipv4)
      assert.equal(unmapped(ipv4), ipv4)
      const isMapped = /^::ffff:/i.test(other) && isIPv4Address(other.slice('::ffff:'.length))
      if (!isMapped && isIPv6Address(other)) assert.equal(unmapped(other), other)
    })
  })
})

describe('the caller', () => {
  it('is the last address that is no trusted proxy, whatever the header claims before it', (t) => {
    const values = networks.chain((some) =>
      fc.record({
        some: fc.constant(some),
        peer: trustedIn(some),
        proxies: fc.array(spelled(trustedIn(some)), { maxLength: 3 }),
        caller: untrustedBy(some),
        spell: spelling,
        made: fc.option(junk, { nil: undefined }),
        isSecure,
        proto: scheme,
      }),
    )
    holdFor(t, values, ({ some, peer, proxies, caller, spell, made, isSecure, proto }) => {
      const hops = [...(made === undefined ? [] : [made]), spell(caller), ...proxies]
      const headers = headersOf({ 'x-forwarded-for': hops.join(','), 'x-forwarded-proto': proto })
      const found = findOrigin({ address: peer, isSecure }, headers, createTrust(some))
      const told = proto && withoutBlanks(proto.slice(proto.lastIndexOf(',') + 1)).toLowerCase()
      assert.deepEqual(found, { address: caller, isSecure: told === undefined ? isSecure : told === 'https' })
    })
  })

  it('is the peer if that is no trusted proxy, whatever the request claims', (t) => {
    const values = networks.chain((some) => {
      const address = fc.oneof(
        { weight: 6, arbitrary: untrustedBy(some) },
        { weight: 1, arbitrary: fc.constant('') },
      )
      return fc.tuple(
        fc.constant(some),
        fc.record({ address, isSecure }),
        junk,
        spelled(trustedIn(some)),
        scheme,
      )
    })
    holdFor(t, values, ([some, peer, made, last, proto]) => {
      const headers = headersOf({ 'x-forwarded-for': `${made},${last}`, 'x-forwarded-proto': proto })
      assert.deepEqual(findOrigin(peer, headers, createTrust(some)), peer)
      assert.deepEqual(findOrigin(peer, headers, undefined), peer)
    })
  })

  it('agrees with a search from the peer on, hop by hop, for any header', (t) => {
    const values = networks.chain((some) => {
      const hop = fc.oneof(
        { weight: 4, arbitrary: spelled(trustedIn(some)) },
        { weight: 1, arbitrary: spelled(untrustedBy(some)) },
        { weight: 1, arbitrary: spelled(trustedIn(some)).map((text) => `${text.trimEnd()}%eth0`) },
        { weight: 1, arbitrary: junk },
      )
      return fc.tuple(
        fc.constant(some),
        fc.record({ address: trustedIn(some), isSecure }),
        fc.array(hop, { maxLength: 5 }),
      )
    })
    holdFor(t, values, ([some, peer, hops]) => {
      const header = hops.join(',')
      const address = expectedAddress(peer.address, header.split(','), some)
      const found = findOrigin(peer, { 'x-forwarded-for': header }, createTrust(some))
      assert.deepEqual(found, { ...peer, address })
    })
  })
})
