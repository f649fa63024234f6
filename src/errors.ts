import type { ErrorCode } from './error-types.ts'

/** What is wrong with one member of some input. */
export interface Fault {
  readonly field: string
  readonly detail: string
  /** Line of an input with many records, from 1. */
  readonly line?: number
  /** The first of several lines with the same fault, and how many lines, or else records, there are besides. */
  readonly lines?: readonly number[]
  readonly more?: number
  /** Name of the record at fault, if there are many. */
  readonly name?: string
}

/** A foreseen error. Callers tell errors apart by class or the stable `code`; `message` is for people. */
export abstract class ConnbookError extends Error {
  abstract readonly code: ErrorCode

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** Invalid input, with every fault found. */
export class InvalidInputError extends ConnbookError {
  readonly code = 'invalid_input'
  readonly faults: readonly Fault[]

  constructor(message: string, faults: readonly Fault[] = []) {
    super(message)
    this.faults = faults
  }
}

/** The accounts would take more than their limit; nothing has changed. */
export class TooManyAccountsError extends ConnbookError {
  readonly code = 'too_many_accounts'
}

/** As many keys verify as there may be; nothing has changed. */
export class TooManyKeysError extends ConnbookError {
  readonly code = 'too_many_keys'
}

/** A change that the grants of the account do not allow; nothing has changed. */
export class NotGrantedError extends ConnbookError {
  readonly code = 'not_granted'
  readonly faults: readonly Fault[]

  /** @param faults Names of a change of many records, each a fault. */
  constructor(message: string, faults: readonly Fault[] = []) {
    super(message)
    this.faults = faults
  }
}

/** The requested scope is invalid, or exceeds that of the client. */
export class InvalidScopeError extends ConnbookError {
  readonly code = 'invalid_scope'
}

/** An invalid command line or environment. */
export class UsageError extends ConnbookError {
  readonly code = 'invalid_usage'
}

/** Helps against any damage. */
export const RESTORE_ADVICE =
  'restore from a backup with "connbook restore FILE", or salvage what can be read with "connbook recover"'

/** For a file of a newer connbook: it is not damaged, and nothing in it may be given up. */
const NEWER_ADVICE =
  'use the connbook that wrote it, or a newer one; or run "connbook restore FILE" with a backup that this version made'

/** A file of the data folder is not what was written there. */
export class DamagedFileError extends ConnbookError {
  readonly code = 'damaged_data'
  readonly path: string
  readonly offset: number
  readonly reason: string
  readonly advice: string

  /**
   * @param offset First byte that makes no sense, from 0.
   * @param advice What the operator can do.
   */
  constructor(path: string, offset: number, reason: string, advice: string, options?: ErrorOptions) {
    super(`Cannot read "${path}": ${reason} at byte ${offset}; ${advice}`, options)
    this.path = path
    this.offset = offset
    this.reason = reason
    this.advice = advice
  }
}

/** Stored data has a form that only a newer connbook knows; `inFile` adds file and advice. */
export class NewerFormError extends SyntaxError {
  /** @param reads The version that this program reads, if another was found. */
  constructor(what: string, reads?: number) {
    const known = reads === undefined ? '' : `, which reads ${reads},`
    super(`it was written by a newer connbook: ${what} is unknown to this program${known}`)
  }
}

/** Adds file, offset and advice to what a parser threw; a NewerFormError gets its own advice. */
export function inFile(path: string, offset: number, error: unknown, advice: string): DamagedFileError {
  if (error instanceof DamagedFileError) return error
  const reason = error instanceof Error ? error.message : String(error)
  const remedy = error instanceof NewerFormError ? NEWER_ADVICE : advice
  return new DamagedFileError(path, offset, reason, remedy, { cause: error })
}

/** Another process owns the data folder. */
export class FolderInUseError extends ConnbookError {
  readonly code = 'folder_in_use'
}

/** The data folder, or something in it, is unsafe or unusable. */
export class FolderRefusedError extends ConnbookError {
  readonly code = 'folder_refused'
}

/** There is no room for the change; nothing has changed, and a later try may succeed. */
export class StorageFullError extends ConnbookError {
  readonly code = 'storage_full'
}

/** The records take all the memory that they may; nothing has changed. */
export class MemoryFullError extends ConnbookError {
  readonly code = 'memory_full'
}

/** An answer would need more memory than there is for its kind, however few ask for one. */
export class AnswerTooLargeError extends ConnbookError {
  readonly code = 'answer_too_large'
}

/** The disk failed; changes are refused until a full copy of the data has been written. */
export class StorageUnavailableError extends ConnbookError {
  readonly code = 'storage_unavailable'
}

/** The storage did not say whether it made a change, and nobody can know. */
export class OutcomeUnknownError extends ConnbookError {
  readonly code = 'outcome_unknown'
}

/** What a change was decided for has become otherwise; it has to be decided again. No caller ever sees it. */
export class OvertakenError extends ConnbookError {
  readonly code = 'overtaken'

  constructor() {
    super('Cannot make the change: the records are not those that it was decided for; decide again')
  }
}

/** Too many changes to be stored together; nothing has changed. */
export class TooManyChangesError extends ConnbookError {
  readonly code = 'too_many_changes'
}

/** The audit trail cannot be read, or lacks lines that cannot be written now. */
export class TrailUnavailableError extends ConnbookError {
  readonly code = 'trail_unavailable'
}

/** More work is waiting than allowed. */
export class OverloadedError extends ConnbookError {
  readonly code = 'overloaded'
}

/** Too many failed attempts; even the right secret is refused for `retryAfterSeconds`. */
export class TooManyAttemptsError extends ConnbookError {
  readonly code = 'too_many_attempts'
  readonly retryAfterSeconds: number

  constructor(message: string, retryAfterSeconds: number) {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The result of a call; undefined if it fails with one of the codes `absent`. */
export async function ifPresent<T>(call: Promise<T>, absent = ['ENOENT']): Promise<T | undefined> {
  return call.catch((error: unknown) => {
    if (absent.includes(systemCode(error) ?? '')) return undefined
    throw error
  })
}

/** As `ifPresent`; undefined also when a parent in its path is a file. */
export function ifReachable<T>(call: Promise<T>): Promise<T | undefined> {
  return ifPresent(call, ['ENOENT', 'ENOTDIR'])
}

/** The code of a failed system call, such as `ENOENT`; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** The code of `ENOSPC` where there is room for bytes, but no inode for another file; see `namingInodes`. */
export const NO_INODES = 'ENOSPC_INODES'

/** Whether a system call failed for want of room on the disk. */
export function isNoRoom(code: string | undefined): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG' || code === NO_INODES
}

/** What is missing where `isNoRoom`. */
export function describeNoRoom(code: string | undefined): string {
  return code === NO_INODES
    ? 'no more files can be made on the disk, as it has no inodes left'
    : 'no room is left on the disk'
}
