/** What is wrong with one member of some input. */
export interface Fault {
  readonly field: string
  readonly detail: string
  /** Line of the input, from 1, where that has many records. */
  readonly line?: number
  /** The stored record that is at fault, where there are many. */
  readonly name?: string
}

/**
 * An error that was foreseen: `code` is stable and meant for callers, `message` for people.
 *
 * Callers tell errors apart by class or `code`, never by `message`.
 */
export abstract class ConnbookError extends Error {
  abstract readonly code: string

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** Input that breaks the rules; holds every fault found, not only the first. */
export class InvalidInputError extends ConnbookError {
  readonly code = 'invalid_input'
  readonly faults: readonly Fault[]

  constructor(message: string, faults: readonly Fault[] = []) {
    super(message)
    this.faults = faults
  }
}

/** A scope was asked for that is none, or that goes beyond what the client may do. */
export class InvalidScopeError extends ConnbookError {
  readonly code = 'invalid_scope'
}

/** A command line or an environment that cannot be understood. */
export class UsageError extends ConnbookError {
  readonly code = 'invalid_usage'
}

/** What helps against any damage. */
export const RESTORE_ADVICE = 'restore the data folder from a backup with "connbook restore FILE"'

/** What helps against what is no damage: nothing may be given up of a file that a newer connbook wrote. */
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
   * @param offset Byte at which the file stops making sense, from 0.
   * @param advice What the operator can do about it.
   */
  constructor(path: string, offset: number, reason: string, advice: string, options?: ErrorOptions) {
    super(`Cannot read "${path}": ${reason} at byte ${offset}; ${advice}`, options)
    this.path = path
    this.offset = offset
    this.reason = reason
    this.advice = advice
  }
}

/** Stored data has a form that only a newer connbook knows; to be told with `inFile`. */
export class NewerFormError extends SyntaxError {
  /** @param reads The version that this program reads, where another was found. */
  constructor(what: string, reads?: number) {
    const known = reads === undefined ? '' : `, which reads ${reads},`
    super(`it was written by a newer connbook: ${what} is unknown to this program${known}`)
  }
}

/** What a parser threw, with the file and the place. What is newer is not damaged, and has advice of its own. */
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

/** The data folder, or something in it, is not safe or not fit to be used. */
export class FolderRefusedError extends ConnbookError {
  readonly code = 'folder_refused'
}

/** There is no room for the change; nothing has changed, and a later try may succeed. */
export class StorageFullError extends ConnbookError {
  readonly code = 'storage_full'
}

/** The disk failed, and changes are refused until a full copy of the data has been written. */
export class StorageUnavailableError extends ConnbookError {
  readonly code = 'storage_unavailable'
}

/** Changes that are stored all or not at all are too many for that; nothing has changed. */
export class TooManyChangesError extends ConnbookError {
  readonly code = 'too_many_changes'
}

/** More work is waiting than the limits allow. */
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

/** What a call gives for a file; undefined when the file is not there. */
export async function ifPresent<T>(call: Promise<T>, absent = ['ENOENT']): Promise<T | undefined> {
  return call.catch((error: unknown) => {
    if (absent.includes(systemCode(error) ?? '')) return undefined
    throw error
  })
}

/** The same where what should be a folder on the way to it may be a file. */
export function ifReachable<T>(call: Promise<T>): Promise<T | undefined> {
  return ifPresent(call, ['ENOENT', 'ENOTDIR'])
}

/** The system's code of a failed call, such as `ENOENT`; undefined for anything else. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
