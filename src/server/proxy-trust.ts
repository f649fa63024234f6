import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'
import type { Caller } from '../http/message.ts'
import { trimBlanks } from '../http/white-space.ts'

/** What stands for the address of whoever comes in on a Unix socket, and there has none. */
export const UNIX_PEER = 'unix'

/** Addresses that begin with the same bits; the address UNIX_PEER stands for itself. */
export interface Network {
  readonly address: string
  readonly bits: number
}

/** Whether what an address says of others is believed. */
export type Trust = (address: string) => boolean

/** Where a request comes from, and how. */
export type Origin = Pick<Caller, 'address' | 'isSecure'>

/**
 * Finds the caller behind proxies.
 *
 * `X-Forwarded-For` and `X-Forwarded-Proto` count only when a trusted proxy sent them. Each proxy adds the address that
 * it sees at the end, so the caller is the last address that is no trusted proxy's; what stands before it, anybody may
 * have made up.
 *
 * @param peer What the connection itself tells.
 */
export function findOrigin(peer: Origin, headers: IncomingHttpHeaders, isTrusted: Trust | undefined): Origin {
  if (isTrusted === undefined || !isTrusted(peer.address)) return peer
  const { 'x-forwarded-for': hops, 'x-forwarded-proto': schemes } = headers
  const scheme = lastOf(schemes)?.toLowerCase()
  return {
    address: findAddress(peer.address, hops, isTrusted),
    isSecure: scheme === undefined ? peer.isSecure : scheme === 'https',
  }
}

export function createTrust(networks: readonly Network[]): Trust {
  const trusted = new BlockList()
  const addressed = networks.filter(({ address }) => address !== UNIX_PEER)
  for (const { address, bits } of addressed) trusted.addSubnet(address, bits, familyOf(address))
  const isUnixTrusted = addressed.length < networks.length
  return (address) =>
    address === UNIX_PEER ? isUnixTrusted : isIP(address) !== 0 && trusted.check(address, familyOf(address))
}

/**
 * An IPv4 address that a socket for both families shows as mapped (RFC 4291 section 2.5.5.2) loses that; with a zone
 * behind it, what were left would be no address.
 */
export function unmapped(address: string): string {
  return address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.[\d.]+$)/i, '') : address
}

function findAddress(peer: string, hops: string | readonly string[] | undefined, isTrusted: Trust): string {
  let address = peer
  for (const hop of [hops ?? []].flat().join(',').split(',').reverse()) {
    const claimed = parseHop(hop)
    if (claimed === undefined) break
    address = claimed
    if (!isTrusted(claimed)) break
  }
  return address
}

/** Some proxies add the port. */
function parseHop(hop: string): string | undefined {
  const text = trimBlanks(hop)
  const address = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
  // A zone means something on one machine only, and would make many addresses of one.
  return isIP(address) === 0 || address.includes('%') ? undefined : unmapped(address)
}

function lastOf(list: string | readonly string[] | undefined): string | undefined {
  return list === undefined ? undefined : trimBlanks([list].flat().join(',').split(',').at(-1) ?? '')
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}
