import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from './problem.ts'

const ENTITY_TAG = String.raw`(?:W/)?"[!#-~\x80-\xff]*"`
const entityTags = new RegExp(ENTITY_TAG, 'g')
/** Empty places are allowed (RFC 9110 section 5.6.1.2). */
const listOfTags = new RegExp(String.raw`^[ \t,]*${ENTITY_TAG}(?:[ \t]*,[ \t,]*${ENTITY_TAG})*[ \t,]*$`)

/**
 * By which a caller on the owner's socket says who it is, in percent-encoding: the system account, the command as typed,
 * without names, and who used `sudo` for it. Anywhere else they mean nothing.
 */
export const ownerHeaders = {
  account: 'connbook-account',
  command: 'connbook-command',
  claimed: 'connbook-sudo-user',
} as const

/** A host and an optional port (RFC 3986 section 3.2.2); may be empty (RFC 9112 section 3.2). */
const AUTHORITY = /^(?:\[[\da-fA-F:.]{2,}\]|(?:[\w.~!$&'()*+,;=-]|%[\da-fA-F]{2})*)(?::\d*)?$/

export function isAuthority(text: string): boolean {
  return AUTHORITY.test(text)
}

/**
 * Trims spaces and tabs from a field value or a part of one (OWS, RFC 9110 section 5.6.3). Other white space, which
 * `trim` would remove, is part of the value.
 */
export function trimBlanks(text: string): string {
  // A fast path: there are hardly ever any.
  if (!isBlank(text.charCodeAt(0)) && !isBlank(text.charCodeAt(text.length - 1))) return text
  return text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '')
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/**
 * The weight that a header such as `Accept` gives to a value (RFC 9110 section 12.4.2), from 0 to 1.
 *
 * @param name In lower case; wildcards are not looked at, so `*` is a value like others.
 * @returns That of the first member of this name; 0 if it is malformed; undefined if the header does not name it.
 */
export function qualityOf(header: string | undefined, name: string): number | undefined {
  for (const member of header?.split(',') ?? []) {
    const [value = '', ...parameters] = member.split(';').map(trimBlanks)
    if (value.toLowerCase() !== name) continue
    const weight = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2) ?? '1'
    return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0
  }
  return undefined
}

/**
 * Seconds that a caller prefers to wait for an answer (RFC 7240 section 4.3); undefined if it says nothing valid. The first
 * one counts.
 */
export function parseWait(prefer: string | readonly string[] | undefined): number | undefined {
  if (prefer === undefined) return undefined
  for (const preference of String(prefer).split(',')) {
    const seconds = /^[ \t]*wait[ \t]*=[ \t]*"?(\d+)"?[ \t]*(?:;.*)?$/i.exec(preference)?.[1]
    if (seconds !== undefined) return Number(seconds)
  }
  return undefined
}

/**
 * How many records a change may affect at most, as `Prefer: max-affected=N` says; undefined if it does not say so.
 *
 * @returns 'faulty' unless it is given once, with a plain decimal integer.
 */
export function parseMaxAffected(
  prefer: string | readonly string[] | undefined,
): number | 'faulty' | undefined {
  if (prefer === undefined) return undefined
  const values = String(prefer)
    .split(',')
    .flatMap((preference) => /^[ \t]*max-affected[ \t]*(?:=([^;]*))?(?:;.*)?$/is.exec(preference) ?? [])
  const [whole, value = '', ...others] = values
  if (whole === undefined) return undefined
  const digits = /^[ \t]*("?)(0|[1-9]\d{0,15})\1[ \t]*$/.exec(value)?.[2]
  return digits === undefined || others.length > 0 || !Number.isSafeInteger(Number(digits))
    ? 'faulty'
    : Number(digits)
}

/**
 * Whether a page of another site made the request: by `Sec-Fetch-Site` (Fetch Metadata), else by `Origin` (RFC 6454
 * section 7), which must match `Host`. A request with neither header, as from curl, is not cross-site.
 *
 * No page can set `Sec-Fetch-Site`, and the browser compares the origins that it sees itself. So `same-origin` counts also
 * behind a proxy that sends another `Host`. Browsers do not send the header over plain HTTP, except to their own host.
 */
export function isCrossSite({ 'sec-fetch-site': site, origin, host }: IncomingHttpHeaders): boolean {
  if (site === 'same-origin') return false
  if (site !== undefined && site !== 'none') return true
  return origin !== undefined && !isSameHost(origin, host)
}

/** Either side may leave the port out; the origin's scheme then implies it. */
function isSameHost(origin: string, host: string | undefined): boolean {
  const [, scheme, authority = ''] = /^(https?):\/\/([^/\\?#@\s]+)$/.exec(origin) ?? []
  if (scheme === undefined || host === undefined) return false
  const from = URL.parse(`${scheme}://${authority}`)
  return from !== null && from.host === URL.parse(`${scheme}://${host}`)?.host
}

/** So that a header costs no more checks. A browser sends one, and those that pages of sibling sites have set. */
const COOKIES_TRIED_MAX = 8

/**
 * Tries the values of the cookies with some names in a `Cookie` header, name by name, and of each in their order (RFC 6265
 * section 5.4). A page of a sibling site can set a cookie of the same name, which may come first.
 *
 * @param find Called for at most COOKIES_TRIED_MAX values in all, until it returns something.
 * @returns What it returned; undefined if it found nothing.
 */
export function findCookie<Found>(
  header: string | undefined,
  names: readonly string[],
  find: (value: string) => Found | undefined,
): Found | undefined {
  if (header === undefined) return undefined
  let tried = 0
  for (const name of names) {
    for (let start = 0, end = 0; start < header.length && tried < COOKIES_TRIED_MAX; start = end + 1) {
      end = header.indexOf(';', start)
      if (end === -1) end = header.length
      const pair = header.slice(start, end)
      const equals = pair.indexOf('=')
      if (equals === -1 || trimBlanks(pair.slice(0, equals)) !== name) continue
      tried += 1
      const found = find(trimBlanks(pair.slice(equals + 1)))
      if (found !== undefined) return found
    }
  }
  return undefined
}

export interface CookieOptions {
  readonly path: string
  /** Adds `Secure`: the client then sends the cookie over TLS only. */
  readonly isSecure: boolean
  /** Seconds; 0 makes the client forget the cookie. */
  readonly maxAgeSeconds: number
}

/** A `Set-Cookie` value; scripts cannot read the cookie, and other sites' requests do not carry it. */
export function formatCookie(
  name: string,
  value: string,
  { path, isSecure, maxAgeSeconds }: CookieOptions,
): string {
  const secure = isSecure ? '; Secure' : ''
  return `${name}=${value}; HttpOnly; SameSite=Strict; Path=${path}; Max-Age=${maxAgeSeconds}${secure}`
}

/** Behind it a tag says of what kind of answer it is: one with other filters, for example. Other tags have no such character. */
const SUFFIX_MARK = '+'
const SUFFIX = /\+[\w-]*(?="?$)/

/** The tag of something that is made of what another tag stands for; conditions on that take it as the other one. */
export function suffixedTag(tag: string, suffix: string): string {
  return tag + SUFFIX_MARK + suffix
}

/** A tag without its suffix, with its quotes if it has any. */
export function unsuffixed(tag: string): string {
  return tag.replace(SUFFIX, '')
}

/** Any tag, or one of a list of tags. */
type EntityTags = '*' | readonly string[]

/**
 * Whether `If-None-Match` names the tag: a read is 304 (RFC 9110 section 13.1.2, weak comparison). A field that is not
 * understood counts as absent.
 */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  // A fast path for the usual spelling.
  if (ifNoneMatch === etag) return true
  const condition = parseCondition(ifNoneMatch)
  return condition !== undefined && matchesWeakly(condition, etag)
}

/**
 * Whether `If-Match` allows a read of something with this tag (RFC 9110 section 13.1.1, strong comparison). A field that
 * is not understood counts as absent.
 */
export function isExpected(ifMatch: string | undefined, etag: string): boolean {
  if (ifMatch === undefined) return true
  const condition = parseCondition(ifMatch)
  return condition === undefined || matches(condition, etag)
}

/**
 * Whether the conditions of a change hold for a tag; undefined without conditions.
 *
 * @throws {Problem} 400 for a field that is not understood: its sender wants no unconditional change.
 */
export function conditionIn(headers: IncomingHttpHeaders): ((etag: string) => boolean) | undefined {
  const expected = readCondition('If-Match', headers['if-match'])
  const excluded = readCondition('If-None-Match', headers['if-none-match'])
  if (expected === undefined && excluded === undefined) return undefined
  return (etag) =>
    (expected === undefined || matches(expected, etag)) &&
    (excluded === undefined || !matchesWeakly(excluded, etag))
}

/** The tags of `If-None-Match`, without `W/`, quotes and suffix; none for `*`, or if it is not understood. */
export function tagsIn(ifNoneMatch: string): string[] {
  const condition = parseCondition(ifNoneMatch)
  if (condition === undefined || condition === '*') return []
  return condition.map((tag) => unsuffixed(strengthened(tag)).slice(1, -1))
}

function readCondition(name: string, field: string | undefined): EntityTags | undefined {
  if (field === undefined) return undefined
  const condition = parseCondition(field)
  if (condition !== undefined) return condition
  throw new Problem(
    'malformed_condition',
    `Cannot tell what ${name} asks for, so nothing has changed; send * or tags in quotes, such as ${name}: "TAG1", "TAG2"`,
  )
}

/** Undefined for anything but `*` or a list of at least one tag. Node has joined the lines of the field. */
function parseCondition(field: string): EntityTags | undefined {
  if (trimBlanks(field) === '*') return '*'
  return listOfTags.test(field) ? (field.match(entityTags) ?? undefined) : undefined
}

function matches(condition: EntityTags, etag: string): boolean {
  return condition === '*' || condition.some((tag) => isTag(tag, etag))
}

function matchesWeakly(condition: EntityTags, etag: string): boolean {
  return condition === '*' || condition.some((tag) => isTag(strengthened(tag), etag))
}

/** Whether a tag of a condition is the other one, or that of something made of it. */
function isTag(tag: string, etag: string): boolean {
  return tag === etag || unsuffixed(tag) === etag
}

function strengthened(tag: string): string {
  return tag.replace(/^W\//, '')
}
