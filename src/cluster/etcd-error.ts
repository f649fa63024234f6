import { ConnbookError } from '../errors.ts'

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
