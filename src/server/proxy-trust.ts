import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { trimBlanks } from '../http/header-fields.ts'
import type { Caller } from '../http/message.ts'

/** Stands for the address of a peer on a Unix socket, which has none. */
export const UNIX_PEER = 'unix'

/** The addresses that share the first `bits` with `address`; UNIX_PEER stands for itself. */
export interface Network {
  readonly address: string
  readonly bits: number
}

/** Whether the peer with this address is a trusted proxy. */
export type Trust = (address: string) => boolean

export type Origin = Pick<Caller, 'address' | 'isSecure' | 'forwardedHost'> & {
  /** Whether the connection came through the owner's socket. */
  readonly isOwner?: boolean
}

/**
 * Finds the caller behind proxies.
 *
 * `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host` count only if a trusted proxy sent them. Each proxy
 * appends the address it sees, so the caller is the last address that is not a trusted proxy's; earlier ones may be
 * forged. Of several schemes or hosts the last one is the proxy's own.
 *
 * @param peer The origin as the connection shows it.
 */
export function findOrigin(peer: Origin, headers: IncomingHttpHeaders, isTrusted: Trust | undefined): Origin {
  if (isTrusted === undefined || !isTrusted(peer.address)) return peer
  const { 'x-forwarded-for': hops, 'x-forwarded-proto': schemes, 'x-forwarded-host': hosts } = headers
  const forwardedHost = listOf(hosts).at(-1)
  return {
    address: findAddress(peer.address, hops, isTrusted),
    isSecure: schemes === undefined ? peer.isSecure : listOf(schemes).at(-1)?.toLowerCase() === 'https',
    ...(forwardedHost ? { forwardedHost } : {}),
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

/** Turns an IPv4-mapped address (RFC 4291 section 2.5.5.2) into plain IPv4, unless it has a zone: IPv4 has none. */
export function unmapped(address: string): string {
  return address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.[\d.]+$)/i, '') : address
}

function findAddress(peer: string, hops: string | readonly string[] | undefined, isTrusted: Trust): string {
  let address = peer
  for (const hop of listOf(hops).reverse()) {
    const claimed = parseHop(hop)
    if (claimed === undefined) break
    address = claimed
    if (!isTrusted(claimed)) break
  }
  return address
}

/** Drops the port, which some proxies add. */
function parseHop(hop: string): string | undefined {
  const address = /^\[(.+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
  // A zone has a meaning on one machine only, and would let one host have many addresses.
  return isIP(address) === 0 || address.includes('%') ? undefined : unmapped(address)
}

function listOf(header: string | readonly string[] = ''): string[] {
  return [header].flat().join(',').split(',').map(trimBlanks)
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}
