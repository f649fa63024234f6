import { BlockList, isIPv4, isIPv6 } from 'node:net'

const MAPPED_PREFIX = '00000000000000000000ffff'

// Also matches IPv4-mapped addresses such as ::ffff:127.0.0.1.
const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether an IP address is of this machine alone. */
export function isLoopback(address: string): boolean {
  // The first call of `isIPv6` takes milliseconds, which each command of the client would spend.
  return loopback.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/**
 * The network that an address counts for: an IPv4 address itself, or the /64 of an IPv6 address, all of which one
 * customer has. Every spelling of an address gives the same text. An IPv4-mapped address (RFC 4291 section 2.5.5.2)
 * counts as the IPv4 address. Zone ids do not count.
 *
 * @returns The text itself if it is not an IPv6 address.
 */
export function networkOf(address: string): string {
  const bytes = parseIPv6(address)
  if (bytes === undefined) return address
  const hex = bytes.toString('hex')
  if (hex.startsWith(MAPPED_PREFIX)) return bytes.subarray(12).join('.')
  return `${hex.slice(0, 16)}/64`
}

/**
 * The networks that an address is in, from the widest to `networkOf` it: the /48, /56 and /64 of an IPv6 address, the /24
 * of an IPv4 address and itself. A customer has one of these; which of them differs between providers.
 *
 * @returns The text alone if it is not an address.
 */
export function networksOf(address: string): readonly string[] {
  const network = networkOf(address)
  if (network.endsWith('/64')) return [`${network.slice(0, 12)}/48`, `${network.slice(0, 14)}/56`, network]
  if (isIPv4(network)) return [`${network.slice(0, network.lastIndexOf('.'))}.0/24`, network]
  return [network]
}

/** The 16 bytes of an IPv6 address (RFC 4291 section 2.2), without its zone id; undefined for any other text. */
export function parseIPv6(text: string): Buffer | undefined {
  if (!isIPv6(text)) return undefined
  const [address = ''] = text.split('%', 1)
  const [head = '', tail] = address.split('::')
  const before = bytesOf(head)
  const after = bytesOf(tail ?? '')
  return Buffer.from([...before, ...Array(16 - before.length - after.length).fill(0), ...after])
}

/** The bytes of groups with `:` between them; the last may be an IPv4 address. */
function bytesOf(groups: string): number[] {
  if (groups === '') return []
  return groups.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number)
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}
