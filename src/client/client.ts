import { parseJson } from '../json.ts'
import { openCall, readResponse } from './call.ts'
import type { Credential } from './credential.ts'
import type { Endpoint } from './endpoint.ts'
import type { Call, ClientResponse, OpenResponse } from './messages.ts'
import { callPatiently, OtherAnswerError, RefusedError, refusalOf } from './refused.ts'

/** Calls one server in somebody's name. */
export class Client {
  readonly endpoint: Endpoint
  readonly #credential: Credential
  readonly #isPatient: boolean
  /** The headers of a change. */
  readonly #why: Readonly<Record<string, string>>

  /**
   * @param isPatient Whether a call is repeated while the server is busy, as `callPatiently` does.
   * @param reason Why records are changed; sent with each change.
   */
  constructor(endpoint: Endpoint, credential: Credential, isPatient: boolean, reason?: string) {
    this.endpoint = endpoint
    this.#credential = credential
    this.#isPatient = isPatient
    this.#why = reason === undefined ? {} : { 'X-Reason': encodeURIComponent(reason) }
  }

  /** Resolves to an answer as `open` gives it, read whole. Throws as `open` does. */
  async ask(call: Call, signal?: AbortSignal): Promise<ClientResponse> {
    return readResponse(await this.open(call, signal))
  }

  /** The same as JSON. @throws also {OtherAnswerError} if the answer is not JSON. */
  async askJson(call: Call, signal?: AbortSignal): Promise<unknown> {
    const value = parseJson((await this.ask(call, signal)).text)
    if (value !== undefined) return value
    throw new OtherAnswerError(`${this.endpoint.name} answers no JSON; is it a connbook?`)
  }

  /**
   * Resolves at the head of a 2xx answer, or of a 304 one if the call has `If-None-Match`.
   *
   * @param signal Ends the call, and the body of its answer.
   * @throws {RefusedError} for any other answer; nothing has changed.
   * @throws {UnreachableError} {UntrustedError} Nothing was sent.
   * @throws {NoAnswerError} Whether a change was made is not known.
   * @throws {OtherAnswerError} for a redirect.
   */
  async open(call: Call, signal?: AbortSignal): Promise<OpenResponse> {
    const attempt = () => this.#attempt(call, signal)
    const repeat = this.#isPatient ? () => callPatiently(attempt, signal) : attempt
    let answer = await repeat()
    if (answer.status === 403 && this.#credential.renew()) answer = await repeat()
    if ('body' in answer) return answer
    const refused = refusalOf(answer, this.endpoint)
    if (this.#credential.remedy === undefined || !isUnknown(refused)) throw refused
    throw new RefusedError(this.#credential.remedy(this.endpoint), refused)
  }

  /** The text of any other answer. */
  async #attempt(call: Call, signal: AbortSignal | undefined): Promise<OpenResponse | ClientResponse> {
    const headers = {
      ...(await this.#credential.headers(this.endpoint, signal)),
      ...(call.method === 'GET' ? {} : this.#why),
      ...call.headers,
    }
    const answer = await openCall(this.endpoint, { ...call, headers }, signal === undefined ? {} : { signal })
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
