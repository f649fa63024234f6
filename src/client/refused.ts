import { ConnbookError, type Fault } from '../errors.ts'
import { isObject, parseJson, printableJson } from '../json.ts'
import { escapeHidden } from '../text.ts'
import { clientVariables, type Endpoint } from './endpoint.ts'
import type { ClientResponse, ResponseHead } from './messages.ts'
import { pause } from './pause.ts'

/** Shortest pause before a call is repeated, whatever the server asks for. */
export const CALL_PAUSE_MS_MIN = 100
/** Until the last repetition of a call that was answered 429 or 503. */
export const CALL_RETRY_MS = 30_000

const realPatience: Patience = { now: () => performance.now(), pause }
/** Today's form, and the two that a recipient must still accept (RFC 9110 section 5.6.7). */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/

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

/** Problems of a book in which something is not there: perhaps another book was meant. */
const missing: ReadonlySet<string> = new Set(['unknown_name', 'unknown_account'])

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
  const { detail, errors, type } = isObject(answered) ? answered : {}
  if (status === 409 && type === undefined) return takenName(answered, endpoint)
  if (typeof detail !== 'string')
    return new RefusedError(`${endpoint.name} answers ${status}, and nothing that a connbook says`, {
      status,
    })
  const problem = typeof type === 'string' ? PROBLEM_TYPE.exec(type)?.[1] : undefined
  // The server does not know by what name it was called.
  const where = problem !== undefined && missing.has(problem) ? ` ${endpoint.where}` : ''
  return new RefusedError(escapeHidden(detail) + where, {
    status,
    problem,
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

/** The answer has the record that holds the name, if the account sees it. */
function takenName(answered: unknown, endpoint: Endpoint): RefusedError {
  const holders = isObject(answered) ? answered.configurations : undefined
  const [holder] = Array.isArray(holders) ? holders : []
  const message = isObject(holder)
    ? `The name is taken by ${printableJson(holder)}`
    : Array.isArray(holders)
      ? 'The name is taken by a record that this account does not see; choose another name'
      : `${endpoint.name} answers 409`
  return new RefusedError(message, { status: 409, problem: 'name_taken' })
}

function isFault(input: unknown): input is Fault {
  return isObject(input) && typeof input.field === 'string' && typeof input.detail === 'string'
}

interface Patience {
  /** In milliseconds, from any start. */
  now(): number
  /** @param signal Ends it early. */
  pause(ms: number, signal: AbortSignal | undefined): Promise<unknown>
}

/**
 * Makes a call, and repeats it while the server answers 429 or 503: after the time that its `Retry-After` says, and
 * for CALL_RETRY_MS at most.
 *
 * @param signal Ends a pause early, and is that of the calls, too.
 * @returns The last answer.
 * @throws What `call` throws, at once.
 */
export async function callPatiently<Made extends ResponseHead>(
  call: () => Promise<Made>,
  signal?: AbortSignal,
  patience: Patience = realPatience,
): Promise<Made> {
  const end = patience.now() + CALL_RETRY_MS
  for (;;) {
    const answer = await call()
    const waitMs = retryAfterMs(answer)
    if (waitMs === undefined || patience.now() + waitMs > end) return answer
    await patience.pause(waitMs, signal)
  }
}

/** How long the server asks to wait before the call is repeated; undefined if it is not to be repeated. */
export function retryAfterMs({ status, headers }: ResponseHead): number | undefined {
  const seconds = status === 429 || status === 503 ? retryAfterSeconds(headers) : undefined
  return seconds === undefined ? undefined : Math.max(CALL_PAUSE_MS_MIN, Number(seconds) * 1000)
}

/**
 * The seconds that `Retry-After` says, or that are left until its date (RFC 9110 section 10.2.3); undefined without either.
 *
 * @returns Decimal digits, as a server would send them.
 */
function retryAfterSeconds(headers: ResponseHead['headers']): string | undefined {
  const text = headers['retry-after'] ?? ''
  if (/^\d{1,5}$/.test(text)) return text
  const until = parseHttpDate(text)
  if (until === undefined) return undefined
  // By the clock that made the date, which may be another one.
  const now = parseHttpDate(headers.date ?? '') ?? Date.now()
  return String(Math.max(0, Math.ceil((until - now) / 1000)))
}

/** Milliseconds since 1970; undefined if the text is not such a date. */
function parseHttpDate(text: string): number | undefined {
  if (!HTTP_DATE.test(text)) return undefined
  const time = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(time) ? undefined : time
}
