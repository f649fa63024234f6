import { ConnbookError } from '../errors.ts'
import { isObject, parseJson } from '../json.ts'
import { type EtcdRefusal, errorIn } from './messages.ts'

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

/** Why etcd did not do what it was asked for. */
export type EtcdReason =
  /** No connection, or one that broke. */
  | 'unreachable'
  | 'timed_out'
  /** It answered that it cannot now: no leader, a leader that changed, a member that stops. */
  | 'unavailable'
  | 'no_space'
  | 'too_large'
  | 'compacted'
  /** The lease has ended. */
  | 'no_lease'
  /** The role of the user does not allow it. */
  | 'denied'
  /** User or password are wrong or missing, or the token is not good any more. */
  | 'login_failed'
  /** With authentication on, etcd's gateway takes no client certificate that has a CommonName. */
  | 'common_name'
  | 'tls'
  /** An answer that makes no sense. */
  | 'unexpected'

/** etcd refused a call, or did not answer. */
export class EtcdError extends ConnbookError {
  readonly code = 'etcd_failed'
  readonly reason: EtcdReason
  /** Whether it is certain that nothing has changed. */
  readonly isUndone: boolean
  readonly endpoint: string
  /** The words of etcd or of the system. */
  readonly words: string
  /** What to do, as the end of a sentence. */
  readonly remedy: string

  constructor(
    endpoint: string,
    reason: EtcdReason,
    words: string,
    {
      isUndone,
      cause,
      remedy = remedies[reason],
    }: { readonly isUndone: boolean; readonly cause?: unknown; readonly remedy?: string },
  ) {
    super(`etcd at ${endpoint}: ${words}; ${remedy}`, { cause })
    this.endpoint = endpoint
    this.reason = reason
    this.isUndone = isUndone
    this.words = words
    this.remedy = remedy
  }
}

const remedies: Readonly<Record<EtcdReason, string>> = {
  unreachable: 'check that it runs, that --etcd names its client URL, and whether it is https: or http:',
  timed_out: 'check the network, and that a majority of its members run',
  unavailable: 'it is tried again; check that a majority of its members run',
  no_space:
    'its database is full: compact and defragment it, disarm its alarm, or raise --quota-backend-bytes',
  too_large: 'raise --max-request-bytes of etcd, or send less at once',
  compacted: 'the records are read anew',
  no_lease: 'a new one is granted',
  denied: 'give the role of the user readwrite on the prefix, with its end',
  login_failed: 'give the right --etcd-user and --etcd-password-file',
  common_name:
    'with authentication on, its gateway refuses client certificates that have a CommonName: use one without, and --etcd-user with --etcd-password-file',
  tls: 'check --etcd-ca, --etcd-cert and --etcd-key, and whether etcd listens for https:',
  unexpected:
    'check that --etcd names etcd 3.4 or later with its gRPC gateway enabled, not a proxy or another program',
}

/** What a refusal means, and whether it is certain that nothing was done. */
interface Explanation {
  readonly reason: EtcdReason
  readonly isUndone: boolean
}

/** Reads the body of an answer whose status is not 200: mostly JSON, in one of two shapes, but sometimes plain text. */
export function readRefusal(text: string, status: number): EtcdRefusal {
  // A trailer may follow.
  const parsed = parseJson(text.slice(0, text.lastIndexOf('}') + 1))
  const refusal = isObject(parsed) ? errorIn(parsed) : undefined
  if (refusal !== undefined) return refusal
  const words = text.trim().slice(0, TEXT_CHARACTERS_MAX)
  const message = `status ${status}${words === '' ? '' : `: ${words}`}`
  // A proxy in front of a member that is down answers so.
  return { message, code: status >= 502 && status <= 504 ? UNAVAILABLE : 0 }
}

export function explainRefusal({ message, code }: EtcdRefusal): Explanation {
  const [, reason] = REASONS.find(([words]) => words.test(message)) ?? []
  if (reason !== undefined) return { reason, isUndone: true }
  if (code === UNAUTHENTICATED) return { reason: 'login_failed', isUndone: true }
  if (code === UNAVAILABLE || code === DEADLINE_EXCEEDED || PASSING.test(message))
    return { reason: 'unavailable', isUndone: false }
  return { reason: 'unexpected', isUndone: REFUSED_CODES.includes(code) }
}
