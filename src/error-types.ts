/** How a command may end that fails; see `exitCodes`. */
type FailureExit = 1 | 2 | 3 | 4 | 5 | 6 | 65 | 75 | 130

export interface ProblemType {
  readonly status: number
  /** When it is answered and what to do; one line of Markdown. */
  readonly meaning: string
  /** When another try makes sense, unless the answer itself says it. */
  readonly retryAfterSeconds?: number
  /** The exit code of a command that ends with it; that of its status if absent. */
  readonly exit?: FailureExit
}

/** Every problem type by its code, the last part of the type's URN; `Problem` takes no other. */
export const problemTypes = {
  invalid_input: {
    status: 400,
    meaning: 'some fields or parameters are not valid; `errors` lists each; correct them',
  },
  empty_body: { status: 400, meaning: 'the body is empty; send a JSON object' },
  invalid_json: { status: 400, meaning: 'the body is not valid JSON; correct it' },
  not_an_object: { status: 400, meaning: 'the body is JSON, but not an object; send an object' },
  invalid_utf8: { status: 400, meaning: 'the body is not valid UTF-8; send UTF-8' },
  incomplete_body: {
    status: 400,
    meaning: 'the connection ended before the body did; only the log and the metrics show this',
  },
  client_gone: {
    status: 499,
    meaning: 'the connection ended before the answer was ready; only the log and the metrics show this',
  },
  invalid_request: {
    status: 400,
    meaning: 'a token request is not well formed; `error_description` says what to correct',
  },
  invalid_scope: {
    status: 400,
    meaning: 'the scope is unknown, or more than the client has; ask for less, or leave `scope` out',
  },
  unsupported_grant_type: {
    status: 400,
    meaning: 'a token request names another `grant_type`; use `client_credentials`',
  },
  wrong_password: {
    status: 400,
    meaning: 'the current `password` is wrong, and nothing has changed; correct it',
  },
  too_many_affected: {
    status: 400,
    meaning:
      'the filters keep more records than `max-affected` allows, and nothing has changed; narrow them, or allow more',
  },
  malformed_path: { status: 400, meaning: 'the path is not percent-encoded UTF-8; encode it again' },
  malformed_condition: {
    status: 400,
    meaning:
      '`If-Match` or `If-None-Match` of a change is neither `*` nor a list of tags, and nothing has changed; send a tag in quotes',
  },
  malformed_target: {
    status: 400,
    meaning: 'the request target is no path of this server; send a path, or a URL with the host of `Host`',
  },
  malformed_request: { status: 400, meaning: 'the message is not valid HTTP; correct the client' },
  malformed_host: {
    status: 400,
    meaning: 'the header `Host`, or `X-Forwarded-Host` of a trusted proxy, is not a valid host; correct it',
  },
  missing_host: { status: 400, meaning: 'the header `Host` is missing; send it' },
  doubled_header: { status: 400, meaning: 'a header that must be unique is given twice; send it once' },
  unsupported_version: { status: 400, meaning: 'the HTTP version is unknown; use HTTP/1.1' },
  unsupported_transfer_coding: {
    status: 400,
    meaning:
      'the header `Transfer-Encoding` is not `chunked`, or comes with HTTP/1.0, or with `Upgrade` and no credential; use `chunked` with HTTP/1.1',
  },
  invalid_client: {
    status: 401,
    meaning: 'the client is unknown, or its secret is wrong; check both',
  },
  not_authenticated: {
    status: 403,
    meaning: 'there is no valid session or token; log in, or get a token',
  },
  invalid_token: { status: 403, meaning: 'the token is wrong, expired or revoked; get a new one' },
  insufficient_scope: {
    status: 403,
    meaning:
      'the credential may not do this: changes of records need the scope `write`, accounts the scope `admin`; use one that has it',
  },
  not_granted: {
    status: 403,
    meaning:
      'the grants of the account do not allow it, and nothing has changed; `detail` says what the account may change; use one that may',
  },
  session_required: {
    status: 403,
    meaning: 'only a session may do this, not a token; log in at `/login`',
  },
  cross_site: {
    status: 403,
    meaning:
      'a page of another site made the request, or a proxy did not pass `Host` on; call from your own site, or with a token',
  },
  unknown_path: { status: 404, meaning: 'there is nothing at this path; `detail` may say why; check it' },
  unknown_account: { status: 404, exit: 3, meaning: 'no account of this kind has this name; check it' },
  unknown_name: { status: 404, exit: 3, meaning: 'no configuration has this name; check it' },
  method_not_allowed: {
    status: 405,
    meaning: 'the path does not have this method; the header `Allow` lists its methods',
  },
  name_taken: {
    status: 409,
    meaning:
      'there is an account of this kind and name already, and nothing has changed; choose another name',
  },
  last_admin: {
    status: 409,
    meaning:
      'no other user is an admin, and nothing has changed; make another user an admin first, or use the command on the host',
  },
  too_many_accounts: {
    status: 409,
    meaning:
      'there are as many accounts as there may be, or they are as long, and nothing has changed; remove one, or shorten grants',
  },
  too_many_keys: {
    status: 409,
    // Nothing is there already, and nothing is stale.
    exit: 1,
    meaning:
      'only to `connbook keys rotate`: as many keys verify as there may be, and nothing has changed; wait until one of them ends',
  },
  request_timeout: { status: 408, meaning: 'the request took too long to arrive; send it again' },
  stale_record: {
    status: 412,
    meaning:
      'the record, or the list, is not the one that `If-Match` or `If-None-Match` asks for; read it again',
  },
  body_too_large: { status: 413, meaning: 'the body is too long, or comes in too many pieces; send less' },
  too_many_changes: {
    status: 413,
    meaning:
      'more changes than can be stored together, and nothing has changed; split the import, or narrow the filters',
  },
  target_too_long: { status: 414, meaning: 'the request line is too long; shorten path or query' },
  unsupported_type: {
    status: 415,
    meaning: 'the body has a type that is not accepted here; send JSON with `Content-Type: application/json`',
  },
  unsupported_charset: { status: 415, meaning: 'the body has another charset; send UTF-8' },
  unsupported_encoding: { status: 415, meaning: 'the body is compressed; send it uncompressed' },
  unknown_expectation: {
    status: 417,
    meaning: 'the header `Expect` asks for something other than `100-continue`; leave it out',
  },
  not_expressible: {
    status: 422,
    meaning:
      'the export format cannot express some records; `errors` lists them; change them, or add `skip=1`',
  },
  too_many_attempts: {
    status: 429,
    meaning:
      'too many attempts failed for this account from this address or its neighbours; wait for the seconds in `Retry-After`',
  },
  header_too_large: { status: 431, meaning: 'the header is too long, or has too many fields; send less' },
  internal: {
    status: 500,
    meaning: 'a bug in connbook; the log has it as `request_failed`; report it',
  },
  starting: {
    status: 503,
    retryAfterSeconds: 1,
    meaning: 'the records are still being read; try again after `Retry-After`',
  },
  not_ready: {
    status: 503,
    retryAfterSeconds: 5,
    meaning:
      'only from `/readyz`: the server is starting or stopping, or accepts no changes; `detail` says which',
  },
  overloaded: {
    status: 503,
    retryAfterSeconds: 1,
    meaning: 'too much work is waiting; try again after `Retry-After`',
  },
  storage_unavailable: {
    status: 503,
    retryAfterSeconds: 5,
    meaning:
      'the disk failed, or etcd does not answer, and nothing has changed; see the log, and try again later',
  },
  outcome_unknown: {
    status: 503,
    meaning:
      'etcd did not say whether it made the change; read the record, and send the change again if it is not there',
  },
  trail_unavailable: {
    status: 503,
    retryAfterSeconds: 5,
    meaning: 'the audit trail cannot be read or written; see the log, and try again later',
  },
  storage_full: {
    status: 507,
    meaning: 'the disk is full, and nothing has changed; make room, and try again',
  },
  memory_full: {
    status: 507,
    meaning:
      'the records take all the memory that they may, and nothing has changed; remove some, or give connbook more memory',
  },
  answer_too_large: {
    status: 507,
    meaning:
      'the answer needs more memory than there is for one; ask with filters for fewer records, or give connbook more memory',
  },
} as const satisfies Record<string, ProblemType>

/** The code of a problem type. */
export type ProblemCode = keyof typeof problemTypes

/** The exit code of a command for each other code: no answer has it. */
export const localErrors = {
  account_exists: 4,
  address_space_short: 1,
  backup_failed: 1,
  cannot_listen: 1,
  cluster_refused: 1,
  damage_found: 65,
  damaged_data: 65,
  document_busy: 75,
  etcd_failed: 1,
  file_not_replaced: 1,
  folder_in_use: 75,
  folder_refused: 1,
  history_not_known: 1,
  import_refused: 1,
  input_damaged: 1,
  input_unreadable: 1,
  interrupted: 130,
  invalid_usage: 2,
  key_exposed: 1,
  logins_refused: 1,
  newer_folder: 65,
  no_answer: 6,
  no_login: 5,
  no_ssh: 1,
  no_value: 1,
  not_agreed: 1,
  not_private: 5,
  not_saved: 1,
  other_answer: 1,
  output_failed: 1,
  overtaken: 1,
  refused: 1,
  restore_failed: 1,
  restore_incomplete: 1,
  store_changing: 1,
  unhealthy: 1,
  unreachable: 6,
  untrusted: 6,
  wrong_key_file: 1,
} as const satisfies Record<string, FailureExit>

/** The code of an error. */
export type ErrorCode = ProblemCode | keyof typeof localErrors

/** Of a command that ends with an answer of this status; 1 for any other. */
const exitsByStatus: { readonly [status: number]: FailureExit } = { 400: 2, 401: 5, 403: 5, 409: 4, 412: 4 }

export function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(problemTypes, code)
}

/** The exit code of a command that ends with an error of this process. */
export function exitCodeOf(code: ErrorCode): FailureExit {
  return isProblemCode(code) ? exitCodeOfAnswer(code, problemTypes[code].status) : localErrors[code]
}

/**
 * The exit code of a command that ends with an answer.
 *
 * @param code Undefined if it does not come from a connbook; a newer one may have others.
 */
export function exitCodeOfAnswer(code: string | undefined, status: number): FailureExit {
  const type: ProblemType | undefined =
    code !== undefined && isProblemCode(code) ? problemTypes[code] : undefined
  return type?.exit ?? exitsByStatus[status] ?? 1
}
