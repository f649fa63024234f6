import { hash } from 'node:crypto'
import { findCookie, formatCookie } from '../http/header-fields.ts'

const NAME = 'connbook_session'
const MARK_DIGITS = 8

/** How the sessions of a server are carried. */
export class SessionCookie {
  readonly #path: string
  readonly #plainNames: readonly [own: string, earlier: string]
  readonly #secureNames: readonly [own: string, earlier: string]

  /**
   * Cookies know no ports (RFC 6265 section 8.5), so the name tells the servers of one host apart: a login at one must not
   * end the session at another. Earlier versions had the same name for all; sessions under that one are found, too.
   *
   * @param path The cookie's `Path`.
   * @param store Id of the store that the server serves, which is the same after a restart and on each node of a cluster.
   */
  constructor(path: string, store: string) {
    this.#path = path
    this.#plainNames = [nameCookie(path, false, store), nameCookie(path, false)]
    this.#secureNames = [nameCookie(path, true, store), nameCookie(path, true)]
  }

  /** The `Set-Cookie` value that begins a session, or goes on with it. */
  set(token: string, maxAgeSeconds: number, isSecure: boolean): string {
    return formatCookie(this.#names(isSecure)[0], token, { path: this.#path, isSecure, maxAgeSeconds })
  }

  /**
   * The `Set-Cookie` values that clear it: under its own name, which comes last, and under the earlier one if it was sent.
   *
   * curl 7.88 forgets only the last cookie that an answer clears.
   *
   * @param header The `Cookie` header of the request.
   */
  clear(header: string | undefined, isSecure: boolean): string[] {
    const [own, earlier] = this.#names(isSecure)
    const isSent = findCookie(header, [earlier], () => true) === true
    const attributes = { path: this.#path, isSecure, maxAgeSeconds: 0 }
    return [...(isSent ? [earlier] : []), own].map((name) => formatCookie(name, '', attributes))
  }

  /** As `findCookie`, under its own name first. */
  find<Found>(
    header: string | undefined,
    isSecure: boolean,
    verify: (token: string) => Found | undefined,
  ): Found | undefined {
    return findCookie(header, this.#names(isSecure), verify)
  }

  #names(isSecure: boolean) {
    return isSecure ? this.#secureNames : this.#plainNames
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
