import type { Request } from './message.ts'

/**
 * Whether a browser says that another site's page made the request.
 *
 * Told by `Sec-Fetch-Site` (Fetch Metadata) and by `Origin` (RFC 6454 section 7), which must name the host and port of
 * `Host`. Without both, as from curl, nothing speaks against the request.
 */
export function isCrossSite(request: Request): boolean {
  const { 'sec-fetch-site': site, origin, host } = request.headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  return origin !== undefined && !isSameHost(origin, host)
}

/** The port may be left out on either side; the origin's scheme tells which one is meant. */
function isSameHost(origin: string, host: string | undefined): boolean {
  const [, scheme, authority = ''] = /^(https?):\/\/([^/\\?#@\s]+)$/.exec(origin) ?? []
  if (scheme === undefined || host === undefined) return false
  const from = URL.parse(`${scheme}://${authority}`)
  return from !== null && from.host === URL.parse(`${scheme}://${host}`)?.host
}
