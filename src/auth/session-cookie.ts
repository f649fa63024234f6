import { hash } from 'node:crypto'
import { findCookie, formatCookie } from '../http/header-fields.ts'

const NAME = 'connbook_session'
const MARK_DIGITS = 8

/** How the sessions of a server are carried. */
export interface SessionCookie {
  /** The `Set-Cookie` value that begins a session, or goes on with it. */
  set(token: string, maxAgeSeconds: number, isSecure: boolean): string
  /** The `Set-Cookie` values that clear it, under each name by which it is found. */
  clear(isSecure: boolean): string[]
  /** As `findCookie`, under its own name first. */
  find<Found>(
    header: string | undefined,
    isSecure: boolean,
    verify: (token: string) => Found | undefined,
  ): Found | undefined
}

/**
 * Cookies know no ports (RFC 6265 section 8.5), so the name tells the servers of one host apart: a login at one must not
 * end the session at another. Earlier versions had the same name for all; sessions under that one are found, too.
 *
 * @param path The cookie's `Path`.
 * @param store Id of the store that the server serves, which is the same after a restart and on each node of a cluster.
 */
export function createSessionCookie(path: string, store: string): SessionCookie {
  const names = (isSecure: boolean) =>
    [nameCookie(path, isSecure, store), nameCookie(path, isSecure)] as const
  const [plainNames, secureNames] = [names(false), names(true)]
  const namesFor = (isSecure: boolean) => (isSecure ? secureNames : plainNames)
  return {
    set: (token, maxAgeSeconds, isSecure) =>
      formatCookie(namesFor(isSecure)[0], token, { path, isSecure, maxAgeSeconds }),
    clear: (isSecure) =>
      namesFor(isSecure).map((name) => formatCookie(name, '', { path, isSecure, maxAgeSeconds: 0 })),
    find: (header, isSecure, verify) => findCookie(header, namesFor(isSecure), verify),
  }
}

/**
 * The name of the session cookie. Both prefixes bind a cookie to TLS, and `__Host-` also to the path `/` (RFC 6265bis
 * section 4.1.3).
 *
 * @param store Undefined for the name that all servers find it by.
 */
export function nameCookie(path: string, isSecure: boolean, store?: string): string {
  const mark = store === undefined ? '' : `_${hash('sha256', store).slice(0, MARK_DIGITS)}`
  const name = NAME + mark
  if (!isSecure) return name
  return path === '/' ? `__Host-${name}` : `__Secure-${name}`
}
