import { ConnbookError, type Fault } from '../errors.ts'
import { isObject, parseJson, printableJson } from '../json.ts'
import { escapeHidden } from '../text.ts'
import type { ClientResponse } from './call.ts'
import type { Endpoint } from './endpoint.ts'
import { retryAfterSeconds } from './retry.ts'
import { clientVariables } from './variables.ts'

/** The server refused a call; nothing has changed. Its message is the server's own, on one line. */
export class RefusedError extends ConnbookError {
  readonly code = 'refused'
  readonly status: number
  /** Code of the problem, such as `unknown_name`; undefined if the answer does not come from a connbook. */
  readonly problem: string | undefined
  readonly faults: readonly Fault[]

  constructor(message: string, { status, problem, faults = [] }: RefusalParts) {
    super(message)
    this.status = status
    this.problem = problem
    this.faults = faults
  }
}

interface RefusalParts {
  readonly status: number
  readonly problem?: string | undefined
  readonly faults?: readonly Fault[]
}

/** The server is not a connbook, or did not send what it should. */
export class OtherAnswerError extends ConnbookError {
  readonly code = 'other_answer'
}

const PROBLEM_TYPE = /^urn:connbook:problem:([a-z_]+)$/

/** The error that an answer without success means. */
export function refusalOf({ status, headers, text }: ClientResponse, endpoint: Endpoint): ConnbookError {
  if (status >= 300 && status < 400) {
    const to = headers.location === undefined ? '' : ` to ${escapeHidden(headers.location)}`
    return new OtherAnswerError(
      `${endpoint.name} sends on${to} (${status}), where no credential is sent; name the server that is meant`,
    )
  }
  const answered = parseJson(text)
  if (status === 409) return takenName(answered, endpoint)
  const { detail, errors, type } = isObject(answered) ? answered : {}
  if (typeof detail !== 'string')
    return new RefusedError(`${endpoint.name} answers ${status}, and nothing that a connbook says`, {
      status,
    })
  return new RefusedError(escapeHidden(detail), {
    status,
    problem: typeof type === 'string' ? PROBLEM_TYPE.exec(type)?.[1] : undefined,
    faults: Array.isArray(errors) ? errors.filter(isFault) : [],
  })
}

/** The error for an unsuccessful response of the token endpoint, which reports errors as OAuth does (RFC 6749 section 5.2). */
export function tokenRefusalOf(answer: ClientResponse, endpoint: Endpoint): ConnbookError {
  const { status, headers, text } = answer
  const answered = parseJson(text)
  const { error, error_description: description } = isObject(answered) ? answered : {}
  if (typeof error !== 'string' || status < 400) return refusalOf(answer, endpoint)
  const words = typeof description === 'string' ? `${description} (${error})` : error
  const seconds = retryAfterSeconds(headers)
  const isToldWhen = seconds === undefined || words.includes(`${seconds} s`)
  const when = isToldWhen ? '' : `; try again in ${seconds} s`
  const { clientId, clientSecret } = clientVariables
  const remedy = error === 'invalid_client' ? `; see ${clientId} and ${clientSecret}` : ''
  const message = `No token from ${endpoint.name}: ${escapeHidden(words)}${when}${remedy}`
  return new RefusedError(message, { status, problem: error })
}

/** The answer has the record that holds the name. */
function takenName(answered: unknown, endpoint: Endpoint): RefusedError {
  const [holder] = isObject(answered) && Array.isArray(answered.configurations) ? answered.configurations : []
  const message = isObject(holder)
    ? `The name is taken by ${printableJson(holder)}`
    : `${endpoint.name} answers 409`
  return new RefusedError(message, { status: 409, problem: 'name_taken' })
}

function isFault(input: unknown): input is Fault {
  return isObject(input) && typeof input.field === 'string' && typeof input.detail === 'string'
}
