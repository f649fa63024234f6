/** Request bodies; beyond it the answer is 413. */
export const BODY_BYTES_MAX = 64 * 1024
/** Request line and header fields together; beyond it the answer is 431. */
export const HEADER_BYTES_MAX = 16 * 1024
/** Header fields; beyond it the answer is 431. Each takes memory, however short it is. */
export const HEADER_FIELDS_MAX = 200
/** What an import brings in one go; beyond it the answer is 413. */
export const IMPORT_BYTES_MAX = 32 * 1024 * 1024
/** What is read of an import before others have their turn. */
export const IMPORT_PIECE_BYTES = 8 * 1024
/** Rows of an import; at the end all of them are in memory at once. */
export const IMPORT_ROWS_MAX = 250_000
/** What one row of an import takes; a longer one is no record, and nothing behind it is read. */
export const IMPORT_ROW_CHARACTERS_MAX = 16 * 1024
/** Names of each kind that the answer to an import that was only tried lists. */
export const IMPORT_NAMES_LISTED_MAX = 1_000
/** An import of more records is one line of the audit trail; a smaller one, a line more for each record. */
export const IMPORT_AUDITED_RECORDS_MAX = 1_000
/** A longer body is made something of when nothing else waits. */
export const BODY_AT_ONCE_BYTES_MAX = 8 * 1024
/** Pieces of a body that are kept apart while more come. */
export const BODY_PIECES_HELD_MAX = 64
/** Of a body that is read as a whole: Node's parser takes microseconds for a piece, and a read may bring 10,000. */
export const BODY_PIECES_MAX = 4_096
/** What a request takes up, about, that waits for the answer to one before it on its connection. */
export const WAITING_REQUEST_BYTES = 8 * 1024
/** What all such requests may take of the memory that Node allows itself; one more costs its connection. */
export const WAITING_REQUESTS_HEAP_SHARE = 0.25
/** Open connections, fewer where the limit on open files is low; for one more, the one longest quiet is closed. */
export const CONNECTIONS_MAX = 10_000
/** Descriptors kept for files, which come and go with snapshots, accounts and certificates. */
export const DESCRIPTORS_RESERVED = 16
/** How often at most the log tells that connections are cut off. */
export const CUT_OFF_LOG_PAUSE_MS = 60_000

/** From the first byte of a request to the end of its header. */
export const HEADERS_TIMEOUT_MS = 10_000
/** From the first byte of a request to the end of its body. */
export const REQUEST_TIMEOUT_MS = 30_000
/** An idle connection is kept longer than any common proxy keeps it (60 s), so that the proxy closes first. */
export const KEEP_ALIVE_TIMEOUT_MS = 75_000
/** From the writing of an answer, or a piece of a long one, until the client has taken it. */
export const TAKING_TIMEOUT_MS = 90_000
/** How often the time-outs above are looked at. */
export const TIMEOUT_CHECK_MS = 2_000
/** What a client waits for who is told to come back later. */
export const REFUSAL_PAUSE_MS = 200
/** How long a refused body is still read, so that the client sees the refusal and not a reset. */
export const LINGER_MS = 1_000

/** How often the event loop is looked at, which wakes an idle process. */
export const EVENT_LOOP_LOOK_MS = 50
/** Over how much time, at least, the quantiles of the event loop's delay are taken. */
export const EVENT_LOOP_WINDOW_MS = 60_000

/** Lines of the log that wait for whoever reads them; what comes beyond is counted and lost. */
export const LOG_BYTES_WAITING_MAX = 1024 * 1024
/** How long the end of a server waits for its log to be taken. */
export const LOG_FLUSH_MS = 1_000

/** A start that takes longer says in the log that it is under way, and lets no request wait for its end. */
export const LONG_START_MS = 1_000

/** A file with a certificate chain or a private key. */
export const PEM_FILE_BYTES_MAX = 1024 * 1024
/** A certificate that ends sooner than this is warned of. */
export const CERTIFICATE_WARNING_DAYS = 14

/** Records in one page of a list. */
export const PAGE_RECORDS_MAX = 100
/** Lists up to this many records are answered as one string, longer ones are streamed. */
export const UNSTREAMED_RECORDS_MAX = 1_000
/** Records in one piece of a streamed list. */
export const STREAM_SLICE_RECORDS = 500
/** Faults that one answer tells; a body has room for thousands. */
export const FAULTS_MAX = 100

export const NAME_CHARACTERS_MAX = 255
export const HOSTNAME_CHARACTERS_MAX = 253
export const USERNAME_CHARACTERS_MAX = 255

/** Changes that wait for the disk; one more is refused with 503. */
export const WAITING_CHANGES_MAX = 10_000
/** Changes in one journal frame, so in one `fdatasync`. */
export const FRAME_CHANGES_MAX = 1_000
/** A line of a data file. Only an import, which is one frame of a journal, comes near it; a longer one is refused. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024
/** A journal smaller than this is not worth a snapshot. */
export const SNAPSHOT_JOURNAL_BYTES_MIN = 4 * 1024 * 1024
/** Records that a snapshot turns into text before it lets others run. */
export const SNAPSHOT_SLICE_RECORDS = 500
/** A snapshot is synced each time it has grown by so much: a sync of more would hold those of the journal up. */
export const SNAPSHOT_SYNC_BYTES = 8 * 1024 * 1024
/** Between tries to get writable again after the disk failed: the first pause, doubled up to the last. */
export const RECOVERY_PAUSE_MS_MIN = 500
export const RECOVERY_PAUSE_MS_MAX = 30_000

/** Verified tokens remembered, so that a steady caller costs no HMAC. */
export const VERIFIED_TOKENS_MAX = 10_000
/** Ended credentials kept until they would have expired; beyond it a logout is refused with 503. */
export const REVOCATIONS_MAX = 1_000_000
/** A revocations file smaller than this is not worth rewriting. */
export const REVOCATIONS_BYTES_MIN = 1024 * 1024

/** Name of a user, id of a client. */
export const ACCOUNT_NAME_CHARACTERS_MAX = 255
/** A chosen password or secret; a longer one might not fit into the request that shows it. */
export const PASSWORD_BYTES_MAX = 1024
/** Password hashes at once: libuv has four threads, and the disk needs its share of them. */
export const PASSWORD_HASHES_MAX = 2
/** Password hashes that wait; one more is refused with 503. */
export const PASSWORD_QUEUE_MAX = 32

/** Failed attempts that cost nothing, for each pair of address and account. */
export const FREE_FAILURES = 10
/** The pause after the last free failure; each further failure doubles it. */
export const THROTTLE_PAUSE_MS_MIN = 30_000
export const THROTTLE_PAUSE_MS_MAX = 15 * 60_000
/** Failures are forgotten when none was added for so long. */
export const THROTTLE_MEMORY_MS = 60 * 60_000
/** Pairs of address and account watched; beyond it the one longest unseen is forgotten. */
export const THROTTLE_PAIRS_MAX = 10_000

/** A file of the audit trail; beyond it a new one begins, and the oldest of five goes. */
export const AUDIT_FILE_BYTES_MAX = 16 * 1024 * 1024

/** Lines that wait for the audit trail; one more is counted and lost. */
export const AUDIT_WAITING_LINES_MAX = 20_000
/** Attempts to get in that did not succeed and are listed, in each ATTEMPTS_WINDOW_MS: of one network, and of all. */
export const ATTEMPTS_LISTED_MAX = 30
export const ALL_ATTEMPTS_LISTED_MAX = 300
export const ATTEMPTS_WINDOW_MS = 60_000

/** Signing keys of a folder, the superseded ones included; one more is refused. */
export const KEYS_MAX = 16
/** A server that is still busy with something else may sign with a superseded key for so long. */
export const KEY_TAKE_UP_SECONDS = 60
/** A time that an option sets, so also how long a session or token lives at most. */
export const DURATION_SECONDS_MAX = 400 * 24 * 60 * 60

/** How long `connbook healthcheck` waits for an answer. */
export const HEALTHCHECK_TIMEOUT_MS = 3_000

/** How often a running server looks for changed accounts and keys. */
export const CREDENTIALS_POLL_MS = 500
/** How long a command waits for another command that changes accounts or keys. */
export const CREDENTIALS_LOCK_WAIT_MS = 5_000
export const CREDENTIALS_LOCK_PAUSE_MS = 20
