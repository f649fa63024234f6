import { TooManyKeysError } from '../errors.ts'
import type { SharedDocument } from '../files/shared-document.ts'
import { DURATION_SECONDS_MAX, KEYS_MAX } from '../limits.ts'
import { createKey, type StoredKey } from './keys.ts'

/** How long a busy server may still sign with a superseded key. */
export const KEY_TAKE_UP_SECONDS = 60

// Who rotates sets a superseded key's `until` by a clock of its own. That of another node may be ahead, because it never
// goes back (`createClock`); that node then extends `until` (`extendKey`).

export const NO_KEY = 'no key: the next start makes one, and every session and token ends'

/** Converts milliseconds to whole seconds, the unit of tokens and keys. */
export function secondsOf(ms: number): number {
  return Math.floor(ms / 1000)
}

export function hasEnded({ until }: StoredKey, now: number): boolean {
  return until !== undefined && until <= now
}

/** When every token that the key has signed up to `now` has expired; both in seconds since 1970. */
export function endOfTokens({ ttl = DURATION_SECONDS_MAX }: StoredKey, now: number): number {
  return now + ttl
}

/**
 * Puts a new key in front, and lets the others verify until their last token has expired; drops ended keys.
 *
 * @param keys At least one.
 * @throws {TooManyKeysError}
 */
export function rotateKeys(keys: readonly StoredKey[], now: number): StoredKey[] {
  const live = keys.filter((key) => !hasEnded(key, now))
  if (live.length >= KEYS_MAX) {
    const next = Math.min(...live.flatMap(({ until }) => until ?? []))
    throw new TooManyKeysError(
      `Cannot rotate the keys: ${live.length} of them verify, and there is no room for more; wait until ${describeMoment(next)}, when one of them ends, or end every session and token with "connbook keys revoke-all"`,
    )
  }
  const superseded = live.map((key) => ({
    ...key,
    until: key.until ?? endOfTokens(key, now) + KEY_TAKE_UP_SECONDS,
  }))
  return [...replaceKeys(keys, now), ...superseded]
}

/** Returns a new key alone, which ends all sessions and tokens. Keeps `serverTtl`: a running server uses it at once. */
export function replaceKeys([signing]: readonly StoredKey[], now: number): StoredKey[] {
  return [createKey(now, signing?.serverTtl)]
}

/** Lets a superseded key verify until `end` at least; returns the same array if it does already. */
export function extendKey(keys: readonly StoredKey[], id: string, end: number): readonly StoredKey[] {
  const isShort = (key: StoredKey) => key.id === id && key.until !== undefined && key.until < end
  return keys.some(isShort) ? keys.map((key) => (isShort(key) ? { ...key, until: end } : key)) : keys
}

/** Makes the first key, or stores the token lifetime with the key that signs; returns the same array if it has it. */
function withTtl(
  keys: readonly StoredKey[],
  ttlSeconds: number | undefined,
  now: number,
): readonly StoredKey[] {
  const [signing, ...others] = keys
  if (signing === undefined) return [createKey(now, ttlSeconds ?? 0)]
  if (ttlSeconds === undefined) return keys
  const { ttl = DURATION_SECONDS_MAX, serverTtl } = signing
  if (ttl >= ttlSeconds && serverTtl === ttlSeconds) return keys
  const changed = { ...signing, ttl: Math.max(ttl, ttlSeconds), serverTtl: ttlSeconds }
  return [changed, ...others.filter((key) => !hasEnded(key, now))]
}

/**
 * Prepares the keys before a server issues its first token: makes one if there is none, and stores the token lifetime,
 * so that a later rotation lets the key verify for as long.
 *
 * @param ttlSeconds Longest lifetime of a session or token; undefined for a command, which issues none.
 * @param now In seconds since 1970.
 * @throws as `edit` does.
 */
export async function prepareKeys(
  document: SharedDocument<readonly StoredKey[]>,
  ttlSeconds: number | undefined,
  now: number,
): Promise<readonly StoredKey[]> {
  const prepared = (keys: readonly StoredKey[]) => withTtl(keys, ttlSeconds, now)
  const found = await document.read()
  // Most starts have nothing to write, and need no lock.
  return prepared(found) === found ? found : (await document.edit(prepared)).after
}

/** Formats seconds since 1970 for messages, as in `2026-01-31T12:00:00Z`. */
export function describeMoment(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}
