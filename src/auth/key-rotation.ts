import { ConnbookError } from '../errors.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { DURATION_SECONDS_MAX, KEY_TAKE_UP_SECONDS, KEYS_MAX } from '../limits.ts'
import { withCredentialsLock } from './credentials-lock.ts'
import { createKey, keysDocument, readKeys, type StoredKey } from './keys.ts'

// Until when a superseded key verifies is said by the command that supersedes it, and seen by a server, each by a clock
// of its own. A command goes by the machine's, or by the latest moment that a server has remembered if that is later.
// A server's clock follows the machine's forward, but not back; so it may be ahead of a command, and the server then
// extends what the command has said (`extendKey`). What is relied on: that both run on one machine, so that a server
// is never behind.

/** As many keys as there may be verify still. */
export class TooManyKeysError extends ConnbookError {
  readonly code = 'too_many_keys'
}

/** What is told of a folder without a key. */
export const NO_KEY = 'no key: the next start makes one, and every session and token ends'

/** There is no key, because the next start is to begin with new ones. */
export class NoKeyError extends ConnbookError {
  readonly code = 'no_key'
}

/** The moment of a clock's milliseconds, in the whole seconds of tokens and keys. */
export function secondsOf(ms: number): number {
  return Math.floor(ms / 1000)
}

export function hasEnded({ until }: StoredKey, now: number): boolean {
  return until !== undefined && until <= now
}

/** When the last token of a key that signs until now has expired. */
export function endOfTokens({ ttl = DURATION_SECONDS_MAX }: StoredKey, now: number): number {
  return now + ttl
}

/**
 * Puts a new key in front, and lets the others verify until their last token has expired.
 *
 * @param keys At least one; what has ended of them is left out.
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
  return [createSuccessor(keys, now), ...superseded]
}

/** A new key alone, so that every session and token has ended. */
export function replaceKeys(keys: readonly StoredKey[], now: number): StoredKey[] {
  return [createSuccessor(keys, now)]
}

/** A server that runs may sign with it at once. */
function createSuccessor([signing]: readonly StoredKey[], now: number): StoredKey {
  return createKey(now, signing?.serverTtl)
}

/** Lets a superseded key verify until a moment at least. */
export function extendKey(keys: readonly StoredKey[], id: string, end: number): readonly StoredKey[] {
  const isShort = (key: StoredKey) => key.id === id && key.until !== undefined && key.until < end
  return keys.some(isShort) ? keys.map((key) => (isShort(key) ? { ...key, until: end } : key)) : keys
}

/**
 * Notes how long the tokens of a server live, or gives the keys as they are when that is noted already.
 *
 * @param keys At least one.
 */
function noteTtl(keys: readonly StoredKey[], ttlSeconds: number, now: number): readonly StoredKey[] {
  const [signing, ...others] = keys
  if (signing === undefined) return keys
  const { ttl = DURATION_SECONDS_MAX, serverTtl } = signing
  if (ttl >= ttlSeconds && serverTtl === ttlSeconds) return keys
  const noted = { ...signing, ttl: Math.max(ttl, ttlSeconds), serverTtl: ttlSeconds }
  return [noted, ...others.filter((key) => !hasEnded(key, now))]
}

/** Gives the keys to be kept; the very ones that it got when there is nothing to write. */
type KeysEdit = (keys: readonly StoredKey[]) => readonly StoredKey[] | Promise<readonly StoredKey[]>

/**
 * Changes the keys of a folder while nobody else does.
 *
 * @param isInUse As for `readKeys`.
 * @returns The keys before and after; these are on disk.
 * @throws {DamagedFileError} as `readKeys` does. Also what `withCredentialsLock` and `edit` throw; then nothing has changed.
 */
export async function changeKeys(
  folder: DataPaths,
  edit: KeysEdit,
  isInUse = true,
): Promise<{ before: readonly StoredKey[]; after: readonly StoredKey[] }> {
  const change = async () => {
    const before = await readKeys(folder, isInUse)
    const after = await edit(before)
    if (after !== before) await keysDocument(folder).write([...after])
    return { before, after }
  }
  return withCredentialsLock(folder, change)
}

/**
 * Gets the keys ready for a server, before it issues its first token: makes one where there is none, and notes how long
 * its tokens live, so that a later rotation lets the key verify for as long.
 *
 * @param isInUse As for `readKeys`.
 * @param ttlSeconds How long a session or token lives at most.
 * @param now In seconds since 1970.
 * @throws as `changeKeys` does.
 */
export async function prepareKeys(
  folder: DataPaths,
  isInUse: boolean,
  ttlSeconds: number,
  now: number,
): Promise<readonly StoredKey[]> {
  const edit = (keys: readonly StoredKey[]) =>
    keys.length === 0 ? [createKey(now, ttlSeconds)] : noteTtl(keys, ttlSeconds, now)
  const found = await readKeys(folder, isInUse)
  // Most starts have nothing to write, and need not wait for anybody.
  if (edit(found) === found) return found
  return (await changeKeys(folder, edit, isInUse)).after
}

/** A moment in seconds since 1970, as people are told it. */
export function describeMoment(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}
