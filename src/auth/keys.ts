import { randomBytes } from 'node:crypto'
import { DamagedFileError, RESTORE_ADVICE } from '../errors.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { createJsonDocument, type DocumentForm, type JsonDocument, seal } from '../files/json-document.ts'
import { checkMembers, isObject } from '../json.ts'
import { KEYS_MAX } from '../limits.ts'
import { quoteForShell } from '../shell.ts'
import { createSigningKey, type SigningKey } from './signed-token.ts'

/**
 * A stored key; times in seconds, moments since 1970. The first of a list signs, all of them verify. The oldest keys
 * have only an id and a secret.
 */
export interface StoredKey {
  readonly id: string
  /** 32 random bytes in base64url. */
  readonly secret: string
  readonly created?: number
  /** Longest lifetime of its tokens. */
  readonly ttl?: number
  /** Longest lifetime of the tokens of the server that started last; the first `ttl` of the next key. */
  readonly serverTtl?: number
  /** When a superseded key ends: it verifies no more if `until <= now`. */
  readonly until?: number
}

const keyTimes = ['created', 'ttl', 'serverTtl', 'until'] as const
const KEY_BYTES = 32
/** The form of stored keys. */
export const keysForm: DocumentForm<readonly StoredKey[]> = {
  format: 'connbook keys',
  version: 1,
  parse: parseKeys,
}
/** The latest moment that a `Date` can hold, in seconds since 1970. */
const MOMENT_MAX = 8_640_000_000_000

/** The shell command after which the next start makes a new key, which ends every session and token. */
export function newKeysCommand(folder: DataPaths): string {
  const noKeys = quoteForShell(JSON.stringify(seal(keysForm, [])))
  return `(umask 077; echo ${noKeys} > ${quoteForShell(folder.file(dataFiles.keys))})`
}

/**
 * Reads the keys of a folder; for an empty list, `prepareKeys` makes one.
 *
 * @param isInUse Whether the folder has been in use. If not, keys found are left over from an unfinished first start or
 *   restore, and count as none.
 * @throws {DamagedFileError} if the folder is in use and the file missing, or not what was written.
 */
export async function readKeys(folder: DataPaths, isInUse: boolean): Promise<readonly StoredKey[]> {
  if (!isInUse) return []
  const stored = await keysDocument(folder).read()
  if (stored !== undefined) return stored
  throw new DamagedFileError(folder.file(dataFiles.keys), 0, 'the file is missing', adviceForNewKeys(folder))
}

/** Replaces all keys by a new one without tokens, so that no earlier credential is valid. */
export async function createKeys(folder: DataPaths): Promise<StoredKey[]> {
  const keys = [createKey(Date.now() / 1000, 0)]
  await keysDocument(folder).write(keys)
  return keys
}

/** Makes a key without storing it; `now` is in seconds since 1970, the token lifetime undefined if unknown. */
export function createKey(now: number, ttlSeconds: number | undefined): StoredKey {
  return {
    id: randomBytes(6).toString('hex'),
    secret: randomBytes(KEY_BYTES).toString('base64url'),
    created: Math.floor(now),
    ...(ttlSeconds === undefined ? {} : { ttl: ttlSeconds, serverTtl: ttlSeconds }),
  }
}

/** The keys file of a folder. */
export function keysDocument(folder: DataPaths): JsonDocument<readonly StoredKey[]> {
  return createJsonDocument(folder.file(dataFiles.keys), keysForm, adviceForNewKeys(folder), folder.files)
}

/** Advice for a lost file that new keys make up for; the command begins with `before`. */
export function adviceForNewKeys(folder: DataPaths, before = ''): string {
  return `${RESTORE_ADVICE}; or, to keep the records and end every session and token, run: ${before}${newKeysCommand(folder)}`
}

export function toSigningKey({ id, secret }: StoredKey): SigningKey {
  return createSigningKey(id, Buffer.from(secret, 'base64url'))
}

function parseKeys(input: unknown): StoredKey[] {
  if (!Array.isArray(input)) throw new SyntaxError('it holds no list of keys')
  if (input.length > KEYS_MAX) throw new RangeError(`it holds more than ${KEYS_MAX} keys`)
  const keys = input.map(parseKey)
  if (keys[0]?.until !== undefined) throw new SyntaxError('it holds no key that signs')
  return keys
}

function parseKey(input: unknown): StoredKey {
  if (!isObject(input) || typeof input.id !== 'string' || typeof input.secret !== 'string')
    throw new SyntaxError('it holds something that is no key')
  const { id, secret } = input
  checkMembers(input, ['id', 'secret', ...keyTimes], 'a key')
  if (Buffer.from(secret, 'base64url').length !== KEY_BYTES)
    throw new RangeError(`key "${id}" has not ${KEY_BYTES} bytes`)
  const times = keyTimes.flatMap((name) => {
    const value = input[name]
    if (value === undefined) return []
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MOMENT_MAX)
      throw new RangeError(`"${name}" of key "${id}" is no time`)
    return [[name, value] as const]
  })
  return { id, secret, ...Object.fromEntries(times) }
}
