/** Least important first; a log omits those before its own level. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

interface EventDescription {
  readonly level: LogLevel
  /** Their names; a field without a value is left out of the line. */
  readonly fields: readonly string[]
  /** What has happened and, where somebody must act, what to do; one line of Markdown. */
  readonly meaning: string
}

/** Every event of the log; `Log` takes no other. */
export const logEvents = {
  listening: {
    level: 'info',
    fields: ['url', 'socket', 'data', 'records', 'version', 'commit', 'day', 'pid'],
    meaning: 'the server is ready and accepts requests',
  },
  reading: {
    level: 'info',
    fields: ['url', 'socket', 'data'],
    meaning: 'the start takes longer than a second; `/readyz` answers 503 until the records are read',
  },
  cluster_disconnected: {
    level: 'warn',
    fields: ['endpoint', 'reason'],
    meaning:
      'this node gets no changes from etcd; it tries again, and serves reads for `--max-staleness`. If it goes on, do as `reason` says',
  },
  cluster_reconnected: {
    level: 'info',
    fields: ['endpoint'],
    meaning: 'this node gets all changes from etcd again',
  },
  cluster_changes_not_audited: {
    level: 'warn',
    fields: ['after', 'up_to'],
    meaning:
      'other nodes changed records while this one did not run, and etcd has compacted the changes: the audit trail of this node has no lines of them',
  },
  cluster_store_changed: {
    level: 'warn',
    fields: ['endpoint', 'prefix'],
    meaning:
      'the prefix holds another store than when this node ran last, as after a restore into an empty prefix. If that is not so, check `--etcd` and `--etcd-prefix`',
  },
  cluster_unknown_key: {
    level: 'warn',
    fields: ['endpoint', 'key'],
    meaning:
      'another program has written below the prefix. This node ignores the key, but no node starts while it is there: remove it with `etcdctl del`',
  },
  cluster_nodes_removed: {
    level: 'info',
    fields: ['nodes'],
    meaning: 'these nodes have changed nothing for 30 days, so their keys in etcd were removed',
  },
  cluster_nodes_not_removed: {
    level: 'error',
    fields: ['reason'],
    meaning:
      'the key of a node in etcd cannot be read, so none is removed; `connbook check --etcd` says more',
  },
  cluster_changes_refused: {
    level: 'error',
    fields: ['endpoint', 'reason'],
    meaning:
      'etcd is full and takes no changes, until its alarm is disarmed: compact and defragment it, or raise its quota, and disarm the alarm',
  },
  cluster_changes_accepted_again: {
    level: 'info',
    fields: ['endpoint'],
    meaning: 'etcd has room again, and changes are accepted',
  },
  cluster_files_reloaded: {
    level: 'info',
    fields: ['files'],
    meaning:
      'after SIGHUP, or after a refusal of etcd, this node uses what these files say now: password, certificates, key',
  },
  cluster_files_reload_failed: {
    level: 'error',
    fields: ['files', 'reason', 'in_force'],
    meaning:
      'one of these files cannot be used, so what was read before stays in use; correct the file: it is read again when etcd refuses, and at SIGHUP',
  },
  cluster_reloaded: {
    level: 'warn',
    fields: ['restored', 'records'],
    meaning:
      'all records were read again: the changes since the last one were compacted, or etcd was restored from a snapshot, and then every `ETag` is another one',
  },
  stopping: {
    level: 'info',
    fields: ['signal'],
    meaning: 'a signal asked the server to stop; it finishes the requests that it has',
  },
  fatal_error: {
    level: 'error',
    fields: ['reason'],
    meaning: 'this node must not continue, and stops; do as `reason` says',
  },
  stopped: { level: 'info', fields: [], meaning: 'the server has stopped' },
  first_start: {
    level: 'warn',
    fields: ['data', 'reason', 'remedy', 'credentials'],
    meaning:
      'a new book begins, and the first accounts exist; `credentials` is the file with their generated secrets, or `as given` if variables or commands set them all',
  },
  first_start_variables_ignored: {
    level: 'warn',
    fields: ['variables', 'reason'],
    meaning: 'these variables set credentials at a first start only; remove them',
  },
  variables_empty: {
    level: 'info',
    fields: ['variables'],
    meaning: 'these variables are empty, so they count as not set',
  },
  variable_unknown: {
    level: 'warn',
    fields: ['variable', 'remedy'],
    meaning: 'connbook has no variable of this name, but one with nearly the same name; correct or remove it',
  },
  nobody_can_log_in: {
    level: 'warn',
    fields: ['remedy'],
    meaning: 'there is no user and no client, so nobody can log in; do as `remedy` says',
  },
  nobody_can_change: {
    level: 'warn',
    fields: ['remedy'],
    meaning: 'every user and client is read-only, so nobody can change records; do as `remedy` says',
  },
  nobody_can_administer: {
    level: 'warn',
    fields: ['remedy'],
    meaning:
      'no user and no client is an admin, as in a folder of an older connbook, so accounts are managed only by commands on the host; if that is not wanted, do as `remedy` says',
  },
  interrupted_restore_completed: {
    level: 'warn',
    fields: ['restore'],
    meaning:
      'an earlier `connbook restore` or `connbook recover` was interrupted; this start has completed it',
  },
  request: {
    level: 'info',
    fields: ['request_id', 'method', 'path', 'status', 'ms', 'address', 'account', 'complete'],
    meaning:
      'an answered request, with `--access-log`; `complete` is false if the connection ended before the answer did',
  },
  request_failed: {
    level: 'error',
    fields: ['request_id', 'reason'],
    meaning: 'a bug in connbook; the caller got 500; report it with its `reason`',
  },
  reply_failed: {
    level: 'error',
    fields: ['request_id', 'reason'],
    meaning: 'a bug in connbook; the caller got no whole answer; report it with its `reason`',
  },
  waiting_request_failed: {
    level: 'error',
    fields: ['reason'],
    meaning: 'a bug in connbook; an event stream or a waiting read ended early; report it with its `reason`',
  },
  origin_refused: {
    level: 'warn',
    fields: ['origin', 'host', 'remedy'],
    meaning:
      'a browser sent a change from a page of `origin`, and it came with `host`, so it was refused: another site made it, or a proxy did not pass `Host` on. At most one a minute',
  },
  malformed_request: {
    level: 'debug',
    fields: ['address', 'reason'],
    meaning: 'a message was not valid HTTP, or came too slowly; the client must be corrected',
  },
  logged_in: { level: 'info', fields: ['account', 'address', 'request_id'], meaning: 'a user logged in' },
  logged_out: {
    level: 'info',
    fields: ['kind', 'account', 'address', 'request_id'],
    meaning: 'a `user` ended a session, or a `client` a token',
  },
  user_password_changed: {
    level: 'info',
    fields: ['account', 'address', 'request_id'],
    meaning: 'a user gave a new password at `/v1/password`; all other sessions of this user have ended',
  },
  initial_credentials_not_removed: {
    level: 'warn',
    fields: ['file', 'reason'],
    meaning: 'a user has a new password, but `file` still shows the old one; delete the file',
  },
  token_issued: {
    level: 'info',
    fields: ['account', 'address', 'request_id'],
    meaning: 'a client got a token',
  },
  login_failed: {
    level: 'warn',
    fields: ['account', 'address', 'request_id'],
    meaning:
      'wrong password or unknown user; a user that does not exist is not named; many of these mean that somebody is guessing',
  },
  login_throttled: {
    level: 'warn',
    fields: ['account', 'address', 'request_id'],
    meaning:
      'a login was refused without a check, after too many failures for this account from this address or its neighbours; wait until the pause is over',
  },
  login_not_checked: {
    level: 'warn',
    fields: ['account', 'address', 'request_id', 'reason'],
    meaning:
      'a login was refused without a check: too many passwords wait to be checked, or, as `reason` then says, no thread could be started for the checks. If it goes on, allow connbook more memory, threads or open files',
  },
  token_refused: {
    level: 'warn',
    fields: ['account', 'address', 'request_id'],
    meaning: 'wrong secret or unknown client; a client that does not exist is not named',
  },
  token_throttled: {
    level: 'warn',
    fields: ['account', 'address', 'request_id'],
    meaning:
      'a token request was refused without a check, after too many failures for this client from this address or its neighbours; wait until the pause is over',
  },
  token_not_checked: {
    level: 'warn',
    fields: ['account', 'address', 'request_id', 'reason'],
    meaning:
      'a token request was refused without a check: too many secrets wait to be checked, or, as `reason` then says, no thread could be started for the checks. If it goes on, allow connbook more memory, threads or open files',
  },
  token_scope_refused: {
    level: 'warn',
    fields: ['account', 'scope', 'address', 'request_id'],
    meaning: 'a client asked for a scope that it does not have; let it ask for less, or use another client',
  },
  attempts_not_listed: {
    level: 'warn',
    fields: ['count'],
    meaning: 'this many more attempts failed and have no line of their own; somebody may be guessing',
  },
  successes_not_listed: {
    level: 'info',
    fields: ['kind', 'account', 'count'],
    meaning:
      'this many more logins, logouts and tokens of an account succeeded and have no line of their own; let its scripts use a token until it expires',
  },
  credentials_ended: {
    level: 'warn',
    fields: ['kind', 'account', 'address', 'request_id'],
    meaning:
      'an account ended so many sessions or tokens that all of them were ended, and it must log in anew; let its scripts use a token until it expires',
  },
  owner_socket_failed: {
    level: 'warn',
    fields: ['socket', 'reason'],
    meaning:
      'the server works, but commands that name its folder end with 75 while it runs; name it with `--server`, or use a folder with a shorter path, or on a file system with sockets',
  },
  memory_short: {
    level: 'warn',
    fields: ['memory_mib', 'needed_mib', 'remedy'],
    meaning:
      'there is less memory than connbook needs, so the system may end the server; or the records take all that they may, so new ones are answered 507; do as `remedy` says',
  },
  connections_limited: {
    level: 'warn',
    fields: ['connections', 'open_files'],
    meaning: 'the limit on open files allows only this many connections; raise the limit if you need more',
  },
  connection_cut_off: {
    level: 'warn',
    fields: ['address', 'reason'],
    meaning: 'a connection was closed to make room for others; logged once a minute at most',
  },
  plain_http: {
    level: 'warn',
    fields: ['address', 'reason', 'remedy'],
    meaning:
      'other machines can reach this plain HTTP port, so others on the network can read passwords; do as `remedy` says',
  },
  certificate_expired: {
    level: 'warn',
    fields: ['valid_to', 'reason', 'remedy'],
    meaning: 'the certificate has expired; put a new one and its key in place, and send SIGHUP',
  },
  certificate_not_yet_valid: {
    level: 'warn',
    fields: ['valid_from', 'reason', 'remedy'],
    meaning: 'the certificate is not valid yet; check the clock of this machine',
  },
  certificate_expires: {
    level: 'warn',
    fields: ['valid_to', 'days', 'remedy'],
    meaning: 'the certificate expires in this many days; put a new one and its key in place, and send SIGHUP',
  },
  tls_reloaded: {
    level: 'info',
    fields: ['subject', 'names', 'valid_to'],
    meaning: 'after SIGHUP, new connections get this certificate',
  },
  reload_ignored: {
    level: 'info',
    fields: ['signal', 'reason'],
    meaning: 'SIGHUP did nothing, because no option names a file that is read again',
  },
  tls_reload_failed: {
    level: 'error',
    fields: ['reason', 'in_force'],
    meaning:
      'the certificate or key cannot be used, so the old ones stay in use; correct the files, and send SIGHUP again',
  },
  accounts_reload_failed: {
    level: 'error',
    fields: ['reason', 'in_force'],
    meaning:
      'the accounts that etcd has now cannot be read, so the old ones stay in use; run `connbook check`',
  },
  accounts_missing: {
    level: 'error',
    fields: ['file', 'in_force'],
    meaning:
      'the accounts in etcd are gone, so the last known ones stay in use; put them back before the next start',
  },
  keys_reload_failed: {
    level: 'error',
    fields: ['reason', 'in_force'],
    meaning: 'the keys that etcd has now cannot be read, so the old ones stay in use; run `connbook check`',
  },
  keys_missing: {
    level: 'error',
    fields: ['file', 'in_force'],
    meaning:
      'the keys in etcd are gone, so the last known ones stay in use; put them back before the next start',
  },
  keys_not_stored: {
    level: 'error',
    fields: ['key', 'reason'],
    meaning:
      'the keys could not be written; the last tokens of the old key may be refused after the next start',
  },
  snapshot_written: {
    level: 'info',
    fields: ['records', 'revision', 'bytes'],
    meaning: 'all records were written to `snapshot.json`',
  },
  snapshot_failed: {
    level: 'error',
    fields: ['reason'],
    meaning:
      'the records could not be written to `snapshot.json`; no change is lost; make room, or check the disk',
  },
  changes_refused: {
    level: 'error',
    fields: ['file', 'reason'],
    meaning: 'changes are refused because the disk is full or failed; make room, or check the disk',
  },
  changes_accepted_again: {
    level: 'info',
    fields: ['file'],
    meaning: 'there is room on the disk again, and changes are accepted',
  },
  storage_unavailable: {
    level: 'error',
    fields: ['file', 'reason', 'retry_ms'],
    meaning:
      'the disk failed and changes are refused; the server tries again after `retry_ms`; check the disk',
  },
  storage_recovered: {
    level: 'info',
    fields: ['file'],
    meaning: 'the disk works again, and changes are accepted',
  },
  journal_not_truncated: {
    level: 'error',
    fields: ['file', 'reason'],
    meaning: 'the refused changes could not be removed from the end of `file`; check the disk',
  },
  torn_tail_set_aside: {
    level: 'warn',
    fields: ['file', 'offset', 'bytes', 'kept_as'],
    meaning: 'a crash left a half-written line at the end of `file`; it was cut off and kept in `kept_as`',
  },
  clock_behind: {
    level: 'warn',
    fields: ['latest', 'reason', 'remedy'],
    meaning:
      'at the start, the clock of this machine is behind a moment that has passed, `latest`; it was set back, or the newest change is in the future. See whether it is right',
  },
  clock_floor_not_stored: {
    level: 'warn',
    fields: ['reason'],
    meaning:
      'connbook could not store which credentials have expired; do not set the clock back; make room, or check the disk',
  },
  revocations_not_compacted: {
    level: 'error',
    fields: ['reason'],
    meaning: 'the file of ended sessions and tokens could not be made smaller; make room, or check the disk',
  },
  folder_not_closed: {
    level: 'error',
    fields: ['reason'],
    meaning: 'a command could not close the data folder as it should; what it has said is done',
  },
  audit_not_written: {
    level: 'error',
    fields: ['file', 'reason'],
    meaning:
      'the audit trail cannot be written: lines of changes wait, others are lost; make room, or check the disk',
  },
  audit_not_read: {
    level: 'error',
    fields: ['reason'],
    meaning:
      'the audit trail cannot be read, so a history was answered 503; check the data folder and the disk',
  },
  audit_damaged: {
    level: 'warn',
    fields: ['file', 'line', 'count'],
    meaning:
      'a file of the audit trail has lines, the first with this number, that are damaged, or without the lines before them: passed over, as after a crash; if there was none, check the disk, and compare with a copy elsewhere',
  },
  audit_not_rotated: {
    level: 'error',
    fields: ['reason'],
    meaning: 'no new file of the audit trail could be started, so the old one grows; check the data folder',
  },
  audit_file_removed: {
    level: 'error',
    fields: ['file'],
    meaning:
      'somebody has removed the file of the audit trail while connbook ran: its lines are lost, and a new file has begun',
  },
  log_lines_dropped: {
    level: 'error',
    fields: ['count'],
    meaning: 'this many lines of the log are lost, because its reader was too slow',
  },
} as const satisfies Record<string, EventDescription>

type Events = typeof logEvents

/** The events of a level. */
export type EventOf<Level extends LogLevel> = {
  [Event in keyof Events]: Events[Event]['level'] extends Level ? Event : never
}[keyof Events]

/** What may be logged with an event. */
export type FieldsOf<Event extends keyof Events> = {
  readonly [Field in Events[Event]['fields'][number]]?: string | number | boolean | undefined
}
