import { randomBytes } from 'node:crypto'
import { DamagedFileError } from '../errors.ts'
import { type DataFolder, dataFiles } from '../files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { createJsonDocument } from '../files/json-document.ts'
import { isObject } from '../json.ts'
import { createSigningKey, type SigningKey } from './signed-token.ts'

interface StoredKey {
  readonly id: string
  /** 32 random bytes in base64url. */
  readonly secret: string
}

const KEY_BYTES = 32
const ADVICE =
  'restore it from a backup, or, to end every session and token, put a keys file with an empty list in its place'

/**
 * Reads the signing keys of a folder, and makes the first one.
 *
 * @param mustExist Whether a folder without the file is damage rather than new.
 * @returns At least one key: the first signs, any verifies.
 * @throws {DamagedFileError} if the file is not what was written, or missing where it must exist.
 */
export async function openKeys(
  folder: DataFolder,
  mustExist: boolean,
  files: FileSystem = realFileSystem,
): Promise<readonly SigningKey[]> {
  const path = folder.file(dataFiles.keys)
  const document = createJsonDocument(path, 'connbook keys', parseKeys, ADVICE, files)
  let stored = await document.read()
  if (stored === undefined && mustExist) throw new DamagedFileError(path, 0, 'the file is missing', ADVICE)
  if (stored === undefined || stored.length === 0) {
    stored = [{ id: randomBytes(6).toString('hex'), secret: randomBytes(KEY_BYTES).toString('base64url') }]
    await document.write(stored)
  }
  return stored.map(({ id, secret }) => createSigningKey(id, Buffer.from(secret, 'base64url')))
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
