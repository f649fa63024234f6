import type { NewConfiguration } from '../../src/store/configuration.ts'

/** Bytes that mean no good, and what the server may answer. */
export interface HostileRow {
  readonly name: string
  /** In Latin-1: a character is a byte. */
  readonly bytes: string
  /** For each answer, in order, the statuses that it may have; no other answer may come. */
  readonly allowed: readonly (readonly number[])[]
  /** Whether the sending side is closed right behind the bytes; else the connection must stay in step or be closed. */
  readonly isCut?: boolean
  /** The record that the last answer acknowledges as added; a row without it changes nothing. */
  readonly adds?: NewConfiguration
}

/** What an attacker with accounts of his own has in hand. */
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

/** Names, of which no two are the same, and the bytes. */
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

/** Rows whose bytes end before their time. */
export function cutRows(
  entries: Entries,
  ...statuses: readonly (number | readonly number[])[]
): HostileRow[] {
  return rows(entries, ...statuses).map((row) => ({ ...row, isCut: true }))
}

/** Entries named by the texts that they are made from. */
export function entriesFrom(
  texts: readonly string[],
  toBytes: (text: string) => string,
  prefix = '',
): Entries {
  return Object.fromEntries(texts.map((text) => [prefix + text, toBytes(text)]))
}

/** The same entries with something before each name. */
export function prefixed(prefix: string, entries: Entries): Entries {
  return Object.fromEntries(Object.entries(entries).map(([name, bytes]) => [prefix + name, bytes]))
}
