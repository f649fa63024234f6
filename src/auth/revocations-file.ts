import { randomBytes } from 'node:crypto'
import { DamagedFileError } from '../errors.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import type { FileSystem } from '../files/file-system.ts'
import { isObject } from '../json.ts'
import { createJournalFile, type JournalFile, openJournalFile } from '../store/journal-file.ts'
import type { JournalEnd } from '../store/journal-reader.ts'
import { adviceForNewKeys } from './keys.ts'

/** A line of the file. */
export type RevocationChange =
  /** The credential with this `jti` has ended; it would have expired at `exp`, in seconds since 1970. */
  | { readonly jti: string; readonly exp: number }
  /** This moment, in ms since 1970, has passed: what had expired by then may no longer be listed and stays expired. */
  | { readonly passed: number }

/**
 * Reads the file, sees whether it can be written, and changes nothing.
 *
 * @throws {DamagedFileError} as `openRevocations` does.
 */
export async function checkRevocations(
  folder: DataPaths,
  mustExist: boolean,
  files: FileSystem,
): Promise<void> {
  const file = await openJournalFile(folder.file(dataFiles.revocations), files)
  if (file === undefined) {
    if (mustExist) throw revocationsMissing(folder)
    return
  }
  try {
    await readRevocations(file)
  } finally {
    await file.close()
  }
}

/** What a file of ended credentials holds. */
export interface StoredRevocations {
  /** When each would have expired, in seconds since 1970, by its `jti`. */
  readonly ended: Map<string, number>
  /** The latest moment that is known to have passed, in ms since 1970; 0 when none is. */
  readonly passed: number
  readonly end: JournalEnd
}

/** @throws {DamagedFileError} if the file is not what was written, a torn tail excepted. */
export async function readRevocations(file: JournalFile): Promise<StoredRevocations> {
  const ended = new Map<string, number>()
  let passed = 0
  const end = await file.read((input) => {
    const change = parseRevocation(input)
    if ('jti' in change) ended.set(change.jti, change.exp)
    else passed = Math.max(passed, change.passed)
  })
  return { ended, passed, end }
}

export function revocationsMissing(folder: DataPaths): DamagedFileError {
  return new DamagedFileError(
    folder.file(dataFiles.revocations),
    0,
    'the file is missing',
    adviceForNewKeys(folder),
  )
}

/** Begins with no ended credential. */
export async function createRevocations(folder: DataPaths, files: FileSystem): Promise<void> {
  const path = folder.file(dataFiles.revocations)
  await createJournalFile(path, { store: randomBytes(16).toString('hex'), after: 0 }, files)
}

function parseRevocation(input: unknown): RevocationChange {
  if (isObject(input)) {
    if (typeof input.jti === 'string' && typeof input.exp === 'number')
      return { jti: input.jti, exp: input.exp }
    if (typeof input.passed === 'number') return { passed: input.passed }
  }
  throw new SyntaxError('it is no ended credential')
}
