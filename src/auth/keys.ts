import { randomBytes } from 'node:crypto'
import { DamagedFileError, RESTORE_ADVICE } from '../errors.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { createJsonDocument, type JsonDocument, seal } from '../files/json-document.ts'
import { isObject } from '../json.ts'
import { quoteForShell } from '../shell.ts'
import { createSigningKey, type SigningKey } from './signed-token.ts'

interface StoredKey {
  readonly id: string
  /** 32 random bytes in base64url. */
  readonly secret: string
}

const KEY_BYTES = 32
const FORMAT = 'connbook keys'

/** The command that makes the next start begin with new keys, and so ends every session and token. */
export function newKeysCommand(folder: DataPaths): string {
  const noKeys = quoteForShell(JSON.stringify(seal(FORMAT, [])))
  return `(umask 077; echo ${noKeys} > ${quoteForShell(folder.file(dataFiles.keys))})`
}

/**
 * Reads the signing keys of a folder: the first signs, any verifies. None are to be replaced by `createKeys`.
 *
 * @param isInUse Whether the folder has been in use, so that a missing file is damage. Otherwise keys that are there
 *   were left by something that did not come to an end, and count as none.
 * @throws {DamagedFileError} if the file of a folder in use is missing or is not what was written.
 */
export async function readKeys(
  folder: DataPaths,
  isInUse: boolean,
  files: FileSystem = realFileSystem,
): Promise<SigningKey[]> {
  if (!isInUse) return []
  const document = keysDocument(folder, files)
  const stored = await document.read()
  if (stored === undefined)
    throw new DamagedFileError(
      folder.file(dataFiles.keys),
      0,
      'the file is missing',
      adviceForNewKeys(folder),
    )
  return stored.map(toSigningKey)
}

/** Begins with one new key, so that no credential from before is good any more. */
export async function createKeys(
  folder: DataPaths,
  files: FileSystem = realFileSystem,
): Promise<SigningKey[]> {
  const stored = {
    id: randomBytes(6).toString('hex'),
    secret: randomBytes(KEY_BYTES).toString('base64url'),
  }
  await keysDocument(folder, files).write([stored])
  return [toSigningKey(stored)]
}

function keysDocument(folder: DataPaths, files: FileSystem): JsonDocument<StoredKey[]> {
  return createJsonDocument(folder.file(dataFiles.keys), FORMAT, parseKeys, adviceForNewKeys(folder), files)
}

/**
 * Also for another file whose loss new keys make good.
 *
 * @param before What the command is to begin with.
 */
export function adviceForNewKeys(folder: DataPaths, before = ''): string {
  return `${RESTORE_ADVICE}; or, to keep the records and end every session and token, run: ${before}${newKeysCommand(folder)}`
}

function toSigningKey({ id, secret }: StoredKey): SigningKey {
  return createSigningKey(id, Buffer.from(secret, 'base64url'))
}

function parseKeys(input: unknown): StoredKey[] {
  if (!Array.isArray(input)) throw new SyntaxError('it holds no list of keys')
  return input.map((entry: unknown) => {
    if (!isObject(entry) || typeof entry.id !== 'string' || typeof entry.secret !== 'string') {
      throw new SyntaxError('it holds something that is no key')
    }
    if (Buffer.from(entry.secret, 'base64url').length !== KEY_BYTES) {
      throw new RangeError(`key "${entry.id}" has not ${KEY_BYTES} bytes`)
    }
    return { id: entry.id, secret: entry.secret }
  })
}
