import type { Request } from './message.ts'

/**
 * Whether a page of another site made the request: by `Sec-Fetch-Site` (Fetch Metadata), and by `Origin` (RFC 6454
 * section 7), which must match `Host`. A request with neither header, as from curl, is not cross-site.
 */
export function isCrossSite(request: Request): boolean {
  const { 'sec-fetch-site': site, origin, host } = request.headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  return origin !== undefined && !isSameHost(origin, host)
}

/** Either side may leave the port out; the origin's scheme then implies it. */
function isSameHost(origin: string, host: string | undefined): boolean {
  const [, scheme, authority = ''] = /^(https?):\/\/([^/\\?#@\s]+)$/.exec(origin) ?? []
  if (scheme === undefined || host === undefined) return false
  const from = URL.parse(`${scheme}://${authority}`)
  return from !== null && from.host === URL.parse(`${scheme}://${host}`)?.host
}
