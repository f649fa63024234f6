import type { NewConfiguration } from '../../src/store/configuration.ts'

/** Hostile bytes, and what the server may answer. */
export interface HostileRow {
  readonly name: string
  /** Latin-1: each character is a byte. */
  readonly bytes: string
  /** The allowed statuses of each answer, in order; there must be no further answer. */
  readonly allowed: readonly (readonly number[])[]
  /** Whether the client closes its sending side after the bytes; if not, the connection must stay in step or close. */
  readonly isCut?: boolean
  /** The record that the last answer acknowledges; a row without one changes nothing. */
  readonly adds?: NewConfiguration
}

/** What an attacker with accounts can use. */
export interface Loot {
  /** A valid `Authorization` header. */
  readonly bearer: string
  /** A valid `Cookie` header. */
  readonly cookie: string
  /** The same, logged out. */
  readonly endedBearer: string
  readonly endedCookie: string
  readonly user: { readonly username: string; readonly password: string }
  readonly client: { readonly client_id: string; readonly client_secret: string }
  /** Entity tag of the record `victim`. */
  readonly etag: string
}

/** Bytes by unique name. */
export type Entries = Readonly<Record<string, string>>

/**
 * Rows with the same answers.
 *
 * @param statuses One for each answer, in order; an array where the standard leaves several open.
 */
export function rows(entries: Entries, ...statuses: readonly (number | readonly number[])[]): HostileRow[] {
  const allowed = statuses.map((status) => (typeof status === 'number' ? [status] : status))
  return Object.entries(entries).map(([name, bytes]) => ({ name, bytes, allowed }))
}

/** Rows with incomplete bytes. */
export function cutRows(
  entries: Entries,
  ...statuses: readonly (number | readonly number[])[]
): HostileRow[] {
  return rows(entries, ...statuses).map((row) => ({ ...row, isCut: true }))
}

/** Entries named by the texts they are made from. */
export function entriesFrom(
  texts: readonly string[],
  toBytes: (text: string) => string,
  prefix = '',
): Entries {
  return Object.fromEntries(texts.map((text) => [prefix + text, toBytes(text)]))
}

/** The same entries with a prefix before each name. */
export function prefixed(prefix: string, entries: Entries): Entries {
  return Object.fromEntries(Object.entries(entries).map(([name, bytes]) => [prefix + name, bytes]))
}
