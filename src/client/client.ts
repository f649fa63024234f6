import { parseJson } from '../json.ts'
import { type Answer, type Call, type OpenAnswer, openCall, readAnswer } from './call.ts'
import type { Credential } from './credential.ts'
import type { Place } from './place.ts'
import { OtherAnswerError, RefusedError, refusalOf } from './refused.ts'
import { callPatiently } from './retry.ts'

/** Calls one server in somebody's name. */
export interface Client {
  readonly place: Place
  /** Resolves to a 2xx answer, read whole. Throws as `open` does. */
  ask(call: Call, signal?: AbortSignal): Promise<Answer>
  /** The same as JSON. @throws also {OtherAnswerError} if it is none. */
  askJson(call: Call, signal?: AbortSignal): Promise<unknown>
  /**
   * Resolves at the head of a 2xx answer.
   *
   * @param signal Ends the call, and the body of its answer.
   * @throws {RefusedError} for any other answer; nothing has changed.
   * @throws {UnreachableError} {UntrustedError} Nothing was sent.
   * @throws {NoAnswerError} Whether a change was made is not known.
   * @throws {OtherAnswerError} for a redirect.
   */
  open(call: Call, signal?: AbortSignal): Promise<OpenAnswer>
}

/** @param isPatient Whether a call is repeated while the server is busy, as `callPatiently` does. */
export function createClient(place: Place, credential: Credential, isPatient: boolean): Client {
  return { place, ask, askJson, open }

  async function ask(call: Call, signal?: AbortSignal): Promise<Answer> {
    return readAnswer(await open(call, signal))
  }

  async function askJson(call: Call, signal?: AbortSignal): Promise<unknown> {
    const value = parseJson((await ask(call, signal)).text)
    if (value === undefined) throw new OtherAnswerError(`${place.name} answers no JSON; is it a connbook?`)
    return value
  }

  async function open(call: Call, signal?: AbortSignal): Promise<OpenAnswer> {
    const attempt = () => attemptCall(call, signal)
    const repeat = isPatient ? () => callPatiently(attempt) : attempt
    let answer = await repeat()
    if (answer.status === 403 && credential.renew()) answer = await repeat()
    if ('body' in answer) return answer
    const refused = refusalOf(answer, place)
    if (credential.remedy === undefined || !isUnknown(refused)) throw refused
    throw new RefusedError(credential.remedy(place), refused)
  }

  /** The text of an answer that is no 2xx. */
  async function attemptCall(call: Call, signal: AbortSignal | undefined): Promise<OpenAnswer | Answer> {
    const headers = { ...(await credential.headers(place, signal)), ...call.headers }
    const answer = await openCall(place, { ...call, headers }, signal === undefined ? {} : { signal })
    return answer.status >= 200 && answer.status < 300 ? answer : readAnswer(answer)
  }
}

/** Whether the server does not know who calls. */
function isUnknown(error: unknown): error is RefusedError {
  return error instanceof RefusedError && error.problem === 'not_authenticated'
}
