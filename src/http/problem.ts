import { STATUS_CODES } from 'node:http'
import {
  AnswerTooLargeError,
  ConnbookError,
  type Fault,
  InvalidInputError,
  InvalidScopeError,
  MemoryFullError,
  NotGrantedError,
  OutcomeUnknownError,
  OverloadedError,
  StorageFullError,
  StorageUnavailableError,
  TooManyAccountsError,
  TooManyAttemptsError,
  TooManyChangesError,
  TooManyKeysError,
  TrailUnavailableError,
} from '../errors.ts'
import { FAULTS_MAX } from '../limits.ts'
import { type ProblemCode, problemTypes } from './problem-types.ts'

type Headers = Record<string, string>

/** An error answer; its message is shown to the caller. */
export class Problem extends ConnbookError {
  readonly code: ProblemCode
  readonly status: number
  readonly headers: Headers
  readonly faults: readonly Fault[]
  /** Further members of the body. */
  readonly members: object

  constructor(
    code: ProblemCode,
    message: string,
    {
      headers = {},
      faults = [],
      members = {},
    }: { headers?: Headers; faults?: readonly Fault[]; members?: object } = {},
  ) {
    super(message)
    this.code = code
    this.status = problemTypes[code].status
    this.headers = headers
    this.faults = faults
    this.members = members
  }

  /** The body of a PROBLEM_TYPE answer (RFC 9457). */
  toJSON() {
    return {
      type: `urn:connbook:problem:${this.code}`,
      title: STATUS_CODES[this.status] ?? 'Error',
      status: this.status,
      detail: this.message,
      ...(this.faults.length > 0 ? { errors: this.faults.slice(0, FAULTS_MAX) } : {}),
      ...this.members,
    }
  }
}

/** The value of `WWW-Authenticate` (RFC 6750 section 3). */
export const BEARER_CHALLENGE = 'Bearer realm="connbook"'

export const PROBLEM_TYPE = 'application/problem+json'

/** In seconds. */
const RETRY_AFTER_OVERLOAD = '1'
const RETRY_AFTER_STORAGE = '5'

/** What a caller may know of an error; undefined for an unforeseen one. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  if (!(error instanceof ConnbookError)) return undefined
  const { message } = error
  const retryAfter = (seconds: string) => ({ headers: { 'Retry-After': seconds } })
  if (error instanceof InvalidInputError) return new Problem(error.code, message, { faults: error.faults })
  if (error instanceof InvalidScopeError) return new Problem(error.code, message)
  if (error instanceof NotGrantedError)
    return new Problem(error.code, message, {
      headers: { 'WWW-Authenticate': BEARER_CHALLENGE },
      faults: error.faults,
    })
  if (
    error instanceof TooManyChangesError ||
    error instanceof TooManyAccountsError ||
    error instanceof TooManyKeysError
  )
    return new Problem(error.code, message)
  if (
    error instanceof StorageFullError ||
    error instanceof MemoryFullError ||
    error instanceof AnswerTooLargeError
  )
    return new Problem(error.code, message)
  if (error instanceof OutcomeUnknownError) return new Problem(error.code, message)
  if (error instanceof StorageUnavailableError || error instanceof TrailUnavailableError)
    return new Problem(error.code, message, retryAfter(RETRY_AFTER_STORAGE))
  if (error instanceof OverloadedError)
    return new Problem(error.code, message, retryAfter(RETRY_AFTER_OVERLOAD))
  if (error instanceof TooManyAttemptsError)
    return new Problem(error.code, message, retryAfter(String(error.retryAfterSeconds)))
  return undefined
}
