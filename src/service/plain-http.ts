import type { Log } from '../log.ts'
import { isLoopback } from '../network.ts'

/** Warns if plain HTTP is served on an IP address that other machines can reach. */
export function warnOfPlainHttp(address: string, log: Log): void {
  if (isLoopback(address)) return
  log.warn('plain_http', {
    address,
    reason: 'everybody on the way can read passwords and tokens',
    remedy: 'give --tls-cert and --tls-key, or listen with --host 127.0.0.1 behind a proxy that speaks HTTPS',
  })
}
