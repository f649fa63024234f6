import { BlockList, isIPv6 } from 'node:net'
import type { Log } from '../log.ts'

// Also matches IPv4-mapped addresses such as ::ffff:127.0.0.1.
const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

export function isLoopback(address: string): boolean {
  return loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Warns if plain HTTP is served on an IP address that other machines can reach. */
export function warnOfPlainHttp(address: string, log: Log): void {
  if (isLoopback(address)) return
  log.warn('plain_http', {
    address,
    reason: 'everybody on the way can read passwords and tokens',
    remedy: 'give --tls-cert and --tls-key, or listen with --host 127.0.0.1 behind a proxy that speaks HTTPS',
  })
}
