import { randomBytes } from 'node:crypto'
import { DamagedFileError, RESTORE_ADVICE } from '../errors.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { createJournalFile, type JournalFile, openJournalFile } from '../journal/journal-file.ts'
import type { JournalEnd } from '../journal/journal-reader.ts'
import { checkMembers, isObject } from '../json.ts'
import { quoteForShell } from '../shell.ts'
import { adviceForNewKeys } from './keys.ts'

/** A line of the file. */
export type RevocationChange =
  /** The credential with this `jti` has ended; it would have expired at `exp`, in seconds since 1970. */
  | { readonly jti: string; readonly exp: number }
  /** This moment, in ms since 1970, has passed: what expired by then stays expired, and need not be listed. */
  | { readonly passed: number }

/** Form of the lines. */
export const REVOCATIONS_VERSION = 1

export interface StoredRevocations {
  /** By `jti`, when each would have expired, in seconds since 1970. */
  readonly ended: Map<string, number>
  /** The latest moment known to have passed, in ms since 1970; 0 if there is none. */
  readonly passed: number
  readonly end: JournalEnd
}

/** As `openJournalFile`, with other advice if the file is damaged. */
export function openRevocationsFile(folder: DataPaths, flags?: 'r' | 'r+'): Promise<JournalFile | undefined> {
  const path = folder.file(dataFiles.revocations)
  return openJournalFile(path, folder.files, REVOCATIONS_VERSION, flags).catch((error: unknown) =>
    throwAdvised(error, folder),
  )
}

/**
 * Reads the file without changing it.
 *
 * @param flags As for `openJournalFile`; `r+` also checks that the file can be written.
 * @returns undefined if there is no file.
 * @throws {DamagedFileError} as `openRevocations` does.
 */
export async function checkRevocations(
  folder: DataPaths,
  mustExist: boolean,
  flags: 'r' | 'r+' = 'r+',
): Promise<StoredRevocations | undefined> {
  const file = await openRevocationsFile(folder, flags)
  if (file === undefined && mustExist) throw revocationsMissing(folder)
  try {
    return file && (await readRevocations(file, folder))
  } finally {
    await file?.close()
  }
}

/** @throws {DamagedFileError} if the file is not what was written, a torn tail excepted. */
export async function readRevocations(
  file: Pick<JournalFile, 'read'>,
  folder: DataPaths,
): Promise<StoredRevocations> {
  const ended = new Map<string, number>()
  let passed = 0
  const visit = (input: unknown) => {
    const change = parseRevocation(input)
    if ('jti' in change) ended.set(change.jti, change.exp)
    else passed = Math.max(passed, change.passed)
  }
  const end = await file.read(visit).catch((error: unknown) => throwAdvised(error, folder))
  return { ended, passed, end }
}

/** Replaces the advice to cut the file, as for other journals: that would make ended credentials valid again. */
function throwAdvised(error: unknown, folder: DataPaths): never {
  if (!(error instanceof DamagedFileError) || !error.advice.startsWith(RESTORE_ADVICE)) throw error
  const { path, offset, reason } = error
  const aside = `mv ${quoteForShell(path)} ${quoteForShell(`${path}.damaged`)}`
  throw new DamagedFileError(path, offset, reason, adviceForNewKeys(folder, `${aside} && `), { cause: error })
}

export function revocationsMissing(folder: DataPaths): DamagedFileError {
  const path = folder.file(dataFiles.revocations)
  return new DamagedFileError(path, 0, 'the file is missing', adviceForNewKeys(folder))
}

/** Creates a file without ended credentials. */
export function createRevocations(folder: DataPaths): Promise<void> {
  const header = { store: randomBytes(16).toString('hex'), after: 0, version: REVOCATIONS_VERSION }
  return createJournalFile(folder.file(dataFiles.revocations), header, folder.files)
}

function parseRevocation(input: unknown): RevocationChange {
  if (isObject(input)) {
    checkMembers(input, 'jti' in input ? ['jti', 'exp'] : ['passed'], 'an ended credential')
    if (typeof input.jti === 'string' && typeof input.exp === 'number')
      return { jti: input.jti, exp: input.exp }
    if (typeof input.passed === 'number') return { passed: input.passed }
  }
  throw new SyntaxError('it is no ended credential')
}
