import { STATUS_CODES } from 'node:http'
import { isProblemCode, type ProblemCode, type ProblemType, problemTypes } from '../error-types.ts'
import {
  ConnbookError,
  type Fault,
  InvalidInputError,
  NotGrantedError,
  TooManyAttemptsError,
} from '../errors.ts'
import { FAULTS_MAX } from '../limits.ts'

type Headers = Record<string, string>

/** The value of `WWW-Authenticate` (RFC 6750 section 3). */
export const BEARER_CHALLENGE = 'Bearer realm="connbook"'

export const PROBLEM_TYPE = 'application/problem+json'

/** An error answer; its message is shown to the caller. */
export class Problem extends ConnbookError {
  readonly code: ProblemCode
  readonly status: number
  readonly headers: Headers
  readonly faults: readonly Fault[]
  /** Further members of the body. */
  readonly members: object

  /** @param headers In place of those that every answer with the code has. */
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
    const { status, retryAfterSeconds }: ProblemType = problemTypes[code]
    this.code = code
    this.status = status
    this.headers = {
      ...(retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }),
      ...(status === 403 ? { 'WWW-Authenticate': BEARER_CHALLENGE } : {}),
      ...headers,
    }
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

/** What a caller may know of an error; undefined for an unforeseen one. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error
  if (!(error instanceof ConnbookError)) return undefined
  const { code, message } = error
  if (!isProblemCode(code)) return undefined
  const faults = error instanceof InvalidInputError || error instanceof NotGrantedError ? error.faults : []
  const headers =
    error instanceof TooManyAttemptsError ? { 'Retry-After': String(error.retryAfterSeconds) } : {}
  return new Problem(code, message, { headers, faults })
}
