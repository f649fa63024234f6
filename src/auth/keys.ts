import { randomBytes } from 'node:crypto'
import { DamagedFileError } from '../errors.ts'
import { type DataFolder, dataFiles } from '../files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { createJsonDocument, seal } from '../files/json-document.ts'
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

/** At least one key: the first signs, any verifies. */
export interface OpenedKeys {
  readonly keys: readonly SigningKey[]
  /** Whether they were made just now, so that no credential from before is good any more. */
  readonly areNew: boolean
}

/** The command that makes the next start begin with new keys, and so ends every session and token. */
export function newKeysCommand(folder: DataFolder): string {
  const noKeys = quoteForShell(JSON.stringify(seal(FORMAT, [])))
  return `(umask 077; echo ${noKeys} > ${quoteForShell(folder.file(dataFiles.keys))})`
}

/**
 * Reads the signing keys of a folder, or makes the first one.
 *
 * @param isInUse Whether the folder has been in use, so that a missing file is damage. Otherwise keys that are there
 *   were left by something that did not come to an end, and are replaced.
 * @throws {DamagedFileError} if the file of a folder in use is missing or is not what was written.
 */
export async function openKeys(
  folder: DataFolder,
  isInUse: boolean,
  files: FileSystem = realFileSystem,
): Promise<OpenedKeys> {
  const path = folder.file(dataFiles.keys)
  const advice = `restore it from a backup; or, to end every session and token, run: ${newKeysCommand(folder)}`
  const document = createJsonDocument(path, FORMAT, parseKeys, advice, files)
  let stored = isInUse ? await document.read() : []
  if (stored === undefined) throw new DamagedFileError(path, 0, 'the file is missing', advice)
  const areNew = stored.length === 0
  if (areNew) {
    stored = [{ id: randomBytes(6).toString('hex'), secret: randomBytes(KEY_BYTES).toString('base64url') }]
    await document.write(stored)
  }
  return {
    keys: stored.map(({ id, secret }) => createSigningKey(id, Buffer.from(secret, 'base64url'))),
    areNew,
  }
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
