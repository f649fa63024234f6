const NOT_ASCII = /[^\0-\x7f]/
/** Other characters have a meaning in a URL. */
const INTERNATIONAL = /^[\w.\-\u0080-\u{10ffff}]+$/u

/**
 * A record's hostname as tools look it up: without the brackets of an IPv6 address, and an international name in ASCII
 * (its A-labels, RFC 5890 section 2.3.2.1; mapped by UTS #46). A name in ASCII stays as it is.
 *
 * OpenSSH and libpq would ask DNS for the bytes of an international name, which nobody has registered.
 */
export function lookupAddress(hostname: string): string {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  if (!NOT_ASCII.test(hostname) || !INTERNATIONAL.test(hostname)) return hostname
  // The console has no other converter. Records of other versions may have a name that cannot be converted.
  return URL.parse(`http://${hostname}`)?.hostname || hostname
}

/** The same in front of a port; only there an IPv6 address needs brackets. */
export function lookupAddressWithPort(hostname: string, port: number | string): string {
  const address = lookupAddress(hostname)
  return `${address.includes(':') ? `[${address}]` : address}:${port}`
}
