/** Larger request bodies are answered 413. */
export const BODY_BYTES_MAX = 64 * 1024
/** Request line and header fields together; beyond it, and beyond HEADER_FIELDS_MAX, the answer is 431. */
export const HEADER_BYTES_MAX = 16 * 1024
/** Each field takes memory, however short it is. */
export const HEADER_FIELDS_MAX = 200
/** Larger imports are answered 413. */
export const IMPORT_BYTES_MAX = 32 * 1024 * 1024
/** For records, even where there seems to be less. */
export const RECORDS_MEMORY_LEAST_BYTES = 3 * 1024 * 1024
/** Measured memory of a record that only one thing still holds: beside its text and labels, and of each label. */
export const HELD_RECORD_BYTES = 320
export const HELD_LABEL_BYTES = 60
/** Measured memory of a row of an import, with all that is made of it until the import is done: beside its text and labels. */
export const IMPORT_ROW_MEMORY_BYTES = 448
/** In the end all rows of an import are in memory at once. */
export const IMPORT_ROWS_MAX = 250_000
/** A longer row of an import is not a record, and ends the reading. */
export const IMPORT_ROW_CHARACTERS_MAX = 16 * 1024
/** Names of each kind in the answer to a trial import. */
export const IMPORT_NAMES_LISTED_MAX = 1_000
/** Of a longer query, which is percent-encoded, the audit trail has the beginning and the SHA-256. */
export const AUDITED_QUERY_CHARACTERS_MAX = 1024
/** Up to this many records, an import adds a line for each to the audit trail; beyond it, a single line. */
export const IMPORT_AUDITED_RECORDS_MAX = 1_000
/** Pieces of a body are joined beyond this number, while more come. */
export const BODY_PIECES_HELD_MAX = 64
/** For bodies but imports. A piece, a chunk or a part of one, costs microseconds, and a read may bring 10,000. */
export const BODY_PIECES_MAX = 4_096
/** Estimated memory of a name that an export notes, such as that of a group, beyond its characters. */
export const NOTED_NAME_BYTES = 64

/** From the first byte of a request to the end of its body. */
export const REQUEST_TIMEOUT_MS = 30_000
/** Until the client has taken an answer, or a piece of a long one. */
export const TAKING_TIMEOUT_MS = 90_000
/** How long a refused body is still read, so that the client sees the answer and not a reset. */
export const LINGER_MS = 1_000

/** With less memory, callers could end the server (see budget.ts); the start then warns. */
export const MEMORY_MIB_MIN = 192

/** A file with a certificate chain or a private key. */
export const PEM_FILE_BYTES_MAX = 1024 * 1024

export const PAGE_RECORDS_MAX = 100
/** Longest text of a filter. */
export const FILTER_CHARACTERS_MAX = 255
/** Words that a search can look for. */
export const FILTER_WORDS_MAX = 16
/** Records that a dry run shows with what would become of them. */
export const CHANGES_SHOWN_MAX = 1_000
/** Ids in a filter. */
export const FILTER_IDS_MAX = 1_000
/** Labels in a filter. */
export const FILTER_LABELS_MAX = 32
/** Grants of one account. */
export const GRANTS_MAX = 16
/** Longer lists, and pages, are sent in pieces. */
export const UNSTREAMED_BYTES_MAX = 64 * 1024
/** One piece of a long answer; up to one record more. Counting its bytes would cost a fifth of the time of a list. */
export const STREAM_PIECE_CHARACTERS = 64 * 1024
/** Faults in one answer; a body has room for thousands. */
export const FAULTS_MAX = 100

export const PORT_MIN = 1
export const PORT_MAX = 65_535
export const NAME_CHARACTERS_MAX = 255
export const HOSTNAME_CHARACTERS_MAX = 253
export const USERNAME_CHARACTERS_MAX = 255
/** Labels of a record. */
export const LABELS_MAX = 32
/** All labels of a record, as JSON in UTF-8. */
export const LABELS_BYTES_MAX = 4 * 1024
export const LABEL_KEY_CHARACTERS_MAX = 63
export const LABEL_VALUE_CHARACTERS_MAX = 255

/** Places of event streams and waiting polls together; each may be open for hours. */
export const WAITING_CALLS_MAX = 1_000
/** Between looks at event streams and waiting polls: whether they go on. */
export const WAITING_CALLS_LOOK_MS = 500
/** Longest wait of a poll; common proxies give up after 60 s. */
export const POLL_WAIT_SECONDS_MAX = 50
/** Changes within this time go out in one write. */
export const EVENTS_PAUSE_MS = 20
/** A client that tries again does so after this time. */
export const EVENTS_RETRY_MS = 2_000

/** Changes that wait for the disk; one more is refused with 503. */
export const WAITING_CHANGES_MAX = 10_000
/** Changes in one journal frame, so in one `fdatasync`. */
export const FRAME_CHANGES_MAX = 1_000
/** A line of a data file. Only an import, which is one journal frame, comes near it; a longer one is refused. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024

/** User name or client id. */
export const ACCOUNT_NAME_CHARACTERS_MAX = 255
/** Shortest password of a user. */
export const PASSWORD_CHARACTERS_MIN = 8
/** Shortest secret of a client that a person chooses. */
export const SECRET_CHARACTERS_MIN = 16
/** A chosen password or secret; a longer one might not fit into a request. */
export const PASSWORD_BYTES_MAX = 1024

/** Changes that a start lists in its audit trail before it waits for the disk. */
export const UNLISTED_AT_ONCE_MAX = 1_000
/** Code points in the reason of a change. */
export const REASON_CHARACTERS_MAX = 255
/** Changes in the answer to a history of one record. */
export const HISTORY_ENTRIES_MAX = 100
export const HISTORY_ENTRIES_DEFAULT = 20
/** Entries in the answer to a history of all records. */
export const ALL_HISTORY_ENTRIES_MAX = 1_000
export const ALL_HISTORY_ENTRIES_DEFAULT = 100
/** Lost changes that a recovery lists by name. */
export const LOST_CHANGES_LISTED_MAX = 20

/** Signing keys of a folder, superseded ones included; one more is refused. */
export const KEYS_MAX = 16
/** Longest time that an option can set, and so the longest lifetime of a session or token. */
export const DURATION_SECONDS_MAX = 400 * 24 * 60 * 60

/** Longest record or event that a command accepts from a server; a connbook sends no longer ones. */
export const SERVED_RECORD_CHARACTERS_MAX = 1024 * 1024

/** How long a command, or a server that starts, waits for a lock: of a data folder, or of kept logins. */
export const LOCK_WAIT_MS = 10_000
export const LOCK_PAUSE_MS = 20
