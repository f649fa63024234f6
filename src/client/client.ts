import { parseJson } from '../json.ts'
import { type Call, type ClientResponse, type OpenResponse, openCall, readResponse } from './call.ts'
import type { Credential } from './credential.ts'
import type { Endpoint } from './endpoint.ts'
import { callPatiently, OtherAnswerError, RefusedError, refusalOf } from './refused.ts'

/** Calls one server in somebody's name. */
export interface Client {
  readonly endpoint: Endpoint
  /** Resolves to an answer as `open` gives it, read whole. Throws as `open` does. */
  ask(call: Call, signal?: AbortSignal): Promise<ClientResponse>
  /** The same as JSON. @throws also {OtherAnswerError} if the answer is not JSON. */
  askJson(call: Call, signal?: AbortSignal): Promise<unknown>
  /**
   * Resolves at the head of a 2xx answer, or of a 304 one if the call has `If-None-Match`.
   *
   * @param signal Ends the call, and the body of its answer.
   * @throws {RefusedError} for any other answer; nothing has changed.
   * @throws {UnreachableError} {UntrustedError} Nothing was sent.
   * @throws {NoAnswerError} Whether a change was made is not known.
   * @throws {OtherAnswerError} for a redirect.
   */
  open(call: Call, signal?: AbortSignal): Promise<OpenResponse>
}

/**
 * @param isPatient Whether a call is repeated while the server is busy, as `callPatiently` does.
 * @param reason Why records are changed; sent with each change.
 */
export function createClient(
  endpoint: Endpoint,
  credential: Credential,
  isPatient: boolean,
  reason?: string,
): Client {
  const why = reason === undefined ? {} : { 'X-Reason': encodeURIComponent(reason) }
  return { endpoint, ask, askJson, open }

  async function ask(call: Call, signal?: AbortSignal): Promise<ClientResponse> {
    return readResponse(await open(call, signal))
  }

  async function askJson(call: Call, signal?: AbortSignal): Promise<unknown> {
    const value = parseJson((await ask(call, signal)).text)
    if (value === undefined) throw new OtherAnswerError(`${endpoint.name} answers no JSON; is it a connbook?`)
    return value
  }

  async function open(call: Call, signal?: AbortSignal): Promise<OpenResponse> {
    const attempt = () => attemptCall(call, signal)
    const repeat = isPatient ? () => callPatiently(attempt, signal) : attempt
    let answer = await repeat()
    if (answer.status === 403 && credential.renew()) answer = await repeat()
    if ('body' in answer) return answer
    const refused = refusalOf(answer, endpoint)
    if (credential.remedy === undefined || !isUnknown(refused)) throw refused
    throw new RefusedError(credential.remedy(endpoint), refused)
  }

  /** The text of any other answer. */
  async function attemptCall(
    call: Call,
    signal: AbortSignal | undefined,
  ): Promise<OpenResponse | ClientResponse> {
    const more = call.method === 'GET' ? {} : why
    const headers = { ...(await credential.headers(endpoint, signal)), ...more, ...call.headers }
    const answer = await openCall(endpoint, { ...call, headers }, signal === undefined ? {} : { signal })
    return isGiven(answer.status, call) ? answer : readResponse(answer)
  }
}

function isGiven(status: number, { headers = {} }: Call): boolean {
  return status === 304 ? 'If-None-Match' in headers : status >= 200 && status < 300
}

/** Whether the server does not know who calls. */
function isUnknown(error: unknown): error is RefusedError {
  return error instanceof RefusedError && error.problem === 'not_authenticated'
}
