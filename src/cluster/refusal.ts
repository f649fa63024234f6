import { isObject, parseJson } from '../json.ts'
import { errorIn } from './answers.ts'
import type { EtcdReason } from './etcd-error.ts'
import type { Refusal } from './messages.ts'

/** What a refusal means, and whether it is certain that nothing was done. */
export interface Explanation {
  readonly reason: EtcdReason
  readonly isUndone: boolean
}

/** Reads the body of an answer whose status is not 200: mostly JSON, in one of two shapes, but sometimes plain text. */
export function readRefusal(text: string, status: number): Refusal {
  // A trailer may follow.
  const parsed = parseJson(text.slice(0, text.lastIndexOf('}') + 1))
  const refusal = isObject(parsed) ? errorIn(parsed) : undefined
  if (refusal !== undefined) return refusal
  const words = text.trim().slice(0, TEXT_CHARACTERS_MAX)
  const message = `status ${status}${words === '' ? '' : `: ${words}`}`
  // A proxy in front of a member that is down answers so.
  return { message, code: status >= 502 && status <= 504 ? UNAVAILABLE : 0 }
}

export function explainRefusal({ message, code }: Refusal): Explanation {
  const [, reason] = REASONS.find(([words]) => words.test(message)) ?? []
  if (reason !== undefined) return { reason, isUndone: true }
  if (code === UNAUTHENTICATED) return { reason: 'login_failed', isUndone: true }
  if (code === UNAVAILABLE || code === DEADLINE_EXCEEDED || PASSING.test(message))
    return { reason: 'unavailable', isUndone: false }
  return { reason: 'unexpected', isUndone: REFUSED_CODES.includes(code) }
}

/** All of these are said before anything is done, or when a change is applied, instead of it. */
const REASONS: readonly (readonly [words: RegExp, reason: EtcdReason])[] = [
  [/database space exceeded/, 'no_space'],
  [/too large|too many operations|larger than max/, 'too_large'],
  [/has been compacted/, 'compacted'],
  [/requested lease not found/, 'no_lease'],
  [/permission denied/, 'denied'],
  [/CommonName/, 'common_name'],
  // A token may be older than a change of users or roles.
  [/user name|auth token|authentication failed|auth store is old/, 'login_failed'],
  // The leader hands over.
  [/no leader|too many requests|proposal dropped/, 'unavailable'],
]

/** Whatever the code. */
const PASSING = /timed out|leader changed|stopp|context (canceled|deadline)/

// https://grpc.io/docs/guides/status-codes/
const [INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, PERMISSION_DENIED] = [3, 4, 5, 7]
const [FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED, UNAVAILABLE, DATA_LOSS] = [9, 11, 12, 14, 15]
const UNAUTHENTICATED = 16

const REFUSED_CODES: readonly number[] = [
  ...[INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED],
  // Answered while an alarm says that members differ.
  DATA_LOSS,
]

/** For messages. */
const TEXT_CHARACTERS_MAX = 200
