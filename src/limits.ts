/** Larger request bodies are answered 413. */
export const BODY_BYTES_MAX = 64 * 1024
/** Request line and header fields together; beyond it, and beyond HEADER_FIELDS_MAX, the answer is 431. */
export const HEADER_BYTES_MAX = 16 * 1024
/** Each field takes memory, however short it is. */
export const HEADER_FIELDS_MAX = 200
/** Larger imports are answered 413. */
export const IMPORT_BYTES_MAX = 32 * 1024 * 1024
/** Read of an import before other requests have their turn. */
export const IMPORT_PIECE_BYTES = 8 * 1024
/** Share of the memory that the build gives to JavaScript, as --max-old-space-size-percentage. */
export const HEAP_SHARE = 0.5
/** For records, even where there seems to be less. */
export const RECORDS_MEMORY_LEAST_BYTES = 3 * 1024 * 1024
/** Estimated memory of a record beside its text and labels: its places in index and orders, and its ETag. */
export const RECORD_MEMORY_BYTES = 320
/** Its text is there as fields and as JSON; one character that is not Latin 1 doubles each of them. */
export const RECORD_JSON_COPIES = 4
/** Estimated memory of a label beside its text. V8 keeps a description of each set of keys that no other record has. */
export const LABEL_MEMORY_BYTES = 160
/** Measured memory of a record that only one thing still holds: beside its text and labels, and of each label. */
export const HELD_RECORD_BYTES = 320
export const HELD_LABEL_BYTES = 60
/** How often a held record holds its text: as fields and as JSON. */
export const HELD_JSON_COPIES = 2
/** Share of the other memory for the body of an import: what is made of it takes some times as much. */
export const IMPORT_MEMORY_SHARE = 1 / 12
/** Share of the other memory for the rows of an import, or for the records that they make: the rest is for garbage. */
export const IMPORT_ROWS_MEMORY_SHARE = 3 / 8
/** Measured memory of a row of an import, with all that is made of it until the import is done: beside its text and labels. */
export const IMPORT_ROW_MEMORY_BYTES = 448
/** More for a row with labels, however many. */
export const IMPORT_LABELS_MEMORY_BYTES = 350
export const IMPORT_LABEL_MEMORY_BYTES = 130
/** Its text is there as fields, as JSON, and in the journal's frame. */
export const IMPORT_JSON_COPIES = 3
/** How long an import waits for those of other accounts; shorter than REQUEST_TIMEOUT_MS. */
export const IMPORT_WAIT_MS = 15_000
/** While another import waits, the body of the one under way must bring so many bytes for each such time of waiting for it. */
export const IMPORT_LOOK_BYTES_MIN = 512 * 1024
export const IMPORT_LOOK_MS = 2_000
/** Read of an SSH configuration by the command, with all that it includes. */
export const SSH_CONFIG_BYTES_MAX = 256 * 1024 * 1024
/** Lines and words of an SSH configuration, which are in memory at once; comments do not count. */
export const SSH_CONFIG_WORDS_MAX = 4_000_000
/** Words behind `Include` that are followed, and files that they name. */
export const SSH_INCLUDES_MAX = 10_000
/** Files within files, as in ssh. */
export const SSH_INCLUDE_DEPTH_MAX = 16
/** Names in folders that the patterns behind one `Include` look at. */
export const SSH_INCLUDE_ENTRIES_MAX = 100_000
/** Characters compared to find what applies to the hosts of an SSH configuration: a second or two. */
export const SSH_MATCH_STEPS_MAX = 100_000_000
/** In the end all rows of an import are in memory at once. */
export const IMPORT_ROWS_MAX = 250_000
/** A longer row of an import is not a record, and ends the reading. */
export const IMPORT_ROW_CHARACTERS_MAX = 16 * 1024
/** Names of each kind in the answer to a trial import. */
export const IMPORT_NAMES_LISTED_MAX = 1_000
/** Up to this many records, an import adds a line for each to the audit trail; beyond it, a single line. */
export const IMPORT_AUDITED_RECORDS_MAX = 1_000
/** Longer bodies are parsed in turns, so that they delay nobody. */
export const BODY_AT_ONCE_BYTES_MAX = 8 * 1024
/** Pieces of a body are joined beyond this number, while more come. */
export const BODY_PIECES_HELD_MAX = 64
/** For bodies but imports. A piece, a chunk or a part of one, costs microseconds, and a read may bring 10,000. */
export const BODY_PIECES_MAX = 4_096
/** Measured memory of a piece of one byte that waits. */
export const UNTAKEN_PIECE_BYTES = 216
/** Estimated memory of a request that waits for the answer to an earlier one on its connection. */
export const WAITING_REQUEST_BYTES = 8 * 1024
/** Beyond one of these shares, connections are cut off until this part of it is left. */
export const HELD_BYTES_KEPT_SHARE = 7 / 8
/** Estimated memory of a character that waits: in its string, and in the buffer that is being sent. */
export const UNTAKEN_CHARACTER_BYTES = 3
/** Connections that have taken or sent nothing for so long are cut off before others of their caller. */
export const HELD_STALLED_MS = 5_000
/** Notes of an export, such as the hosts of its groups, that are kept when it has been sent. */
export const SUMMARY_KEPT_BYTES_MAX = 64 * 1024
/** Estimated memory of a name that an export notes, such as that of a group, beyond its characters. */
export const NOTED_NAME_BYTES = 64
/** Estimated memory of a record beyond the bytes of its JSON. */
export const KEPT_RECORD_BYTES = 100
/** Open connections, fewer if open files or memory are scarce; for one more, the longest quiet one is closed. */
export const CONNECTIONS_MAX = 10_000
/** Measured memory of one that has sent all but the end of a header, with what Node, OpenSSL and the kernel keep for it. */
export const PLAIN_CONNECTION_BYTES = 48 * 1024
/** The same over TLS, or after so much of a handshake. */
export const TLS_CONNECTION_BYTES = 96 * 1024
/** At the limit, so many connections may be there that have not shown a credential yet; no larger share of all. */
export const NEWCOMERS_MAX = 256
export const NEWCOMERS_SHARE = 1 / 4
/** Descriptors kept for files: snapshots, accounts, certificates. */
export const DESCRIPTORS_RESERVED = 16
/** Between log lines about connections that were cut off. */
export const CUT_OFF_LOG_PAUSE_MS = 60_000

/** From the first byte of a request to the end of its header. */
export const HEADERS_TIMEOUT_MS = 10_000
/** From the first byte of a request to the end of its body. */
export const REQUEST_TIMEOUT_MS = 30_000
/** Longer than common proxies keep an idle connection (60 s), so that the proxy closes first. */
export const KEEP_ALIVE_TIMEOUT_MS = 75_000
/** Until the client has taken an answer, or a piece of a long one. */
export const TAKING_TIMEOUT_MS = 90_000
/** Between looks whether a client that sends nothing more still waits for a long answer. */
export const HALF_CLOSED_PROBE_MS = 250
/** Between checks of the time-outs above. */
export const TIMEOUT_CHECK_MS = 2_000
/** Delays an answer with `Retry-After`. */
export const REFUSAL_PAUSE_MS = 200
/** How long a refused body is still read, so that the client sees the answer and not a reset. */
export const LINGER_MS = 1_000

/** With less memory, callers could end the server (see budget.ts); the start then warns. */
export const MEMORY_MIB_MIN = 192

/** Address space, which V8 reserves for its threads and hardly uses. */
export const ADDRESS_SPACE_MIB_MIN = 3 * 1024

/** Between samples of the event loop; each wakes an idle process. */
export const EVENT_LOOP_LOOK_MS = 50
/** Shortest window for the quantiles of the event loop's delay. */
export const EVENT_LOOP_WINDOW_MS = 60_000

/** Log lines that nobody has read yet; further ones are counted and lost. */
export const LOG_BYTES_WAITING_MAX = 1024 * 1024
/** How long a server that stops waits for its log to be read. */
export const LOG_FLUSH_MS = 1_000

/** A longer start is logged, and requests are answered at once instead of waiting for its end. */
export const LONG_START_MS = 1_000

/** A file with a certificate chain or a private key. */
export const PEM_FILE_BYTES_MAX = 1024 * 1024
/** Longest file with a password. */
export const SECRET_FILE_BYTES_MAX = 4096
/** A certificate that expires sooner causes a warning. */
export const CERTIFICATE_WARNING_DAYS = 14

export const PAGE_RECORDS_MAX = 100
/** Longest text of a filter. */
export const FILTER_CHARACTERS_MAX = 255
/** Records that a search holds. If it finds more, it looks at all again to sort or to send them. */
export const SEARCH_RECORDS_MAX = 10_000
/** Searches whose count is remembered until a record changes. */
export const SEARCH_COUNTS_MAX = 100
/** Pages kept as they were sent until a record changes: some 25 of 50 records each. */
export const REMEMBERED_PAGES_BYTES_MAX = 256 * 1024
/** A page that is asked for again after so many others is not kept. */
export const ASKED_PAGES_MAX = 16
/** The page of a longer query is not kept; any page can be asked for with fewer. */
export const PAGE_QUERY_CHARACTERS_MAX = 128
/** Up to this many records, the first use of an order sorts them at once; more are sorted in slices. */
export const SORTED_AT_ONCE_RECORDS_MAX = 1_000
/** An order is dropped if nobody uses it for so long while records change. */
export const ORDER_UNUSED_MS_MAX = 10 * 60_000
/** Longer lists, and pages, are sent in pieces. */
export const UNSTREAMED_BYTES_MAX = 64 * 1024
/** In a list up to this size, each record keeps its JSON. */
export const KEPT_JSON_BYTES_MAX = 4 * 1024 * 1024
/** What long work takes of each turn of the event loop. */
export const LONG_WORK_TURN_MS = 3
/** One piece of a long answer; up to one record more. Counting its bytes would cost a fifth of the time of a list. */
export const STREAM_PIECE_CHARACTERS = 64 * 1024
/** Faults in one answer; a body has room for thousands. */
export const FAULTS_MAX = 100

export const PORT_MIN = 1
export const PORT_MAX = 65_535
export const NAME_CHARACTERS_MAX = 255
export const HOSTNAME_CHARACTERS_MAX = 253
export const USERNAME_CHARACTERS_MAX = 255
/** Labels of a record, and so of a filter. */
export const LABELS_MAX = 32
/** Groups of a record in an export for Ansible; of a record with more, the rest are left out. */
export const ANSIBLE_GROUPS_MAX = 16
/** All labels of a record, as JSON in UTF-8. */
export const LABELS_BYTES_MAX = 4 * 1024
export const LABEL_KEY_CHARACTERS_MAX = 63
export const LABEL_VALUE_CHARACTERS_MAX = 255
/** Memory of the labels that new records share. */
export const LABELS_SHARED_BYTES_MAX = 4 * 1024 * 1024

/** The last changes, kept for event streams that go on where they broke. */
export const RECENT_CHANGES_MAX = 10_000
export const RECENT_CHANGES_BYTES_MAX = 8 * 1024 * 1024
/** Estimated bytes of a recent change without its texts, in an event stream. */
export const RECENT_CHANGE_BYTES = 256
/** Measured memory of a recent change beside the record that it replaced or removed. */
export const RECENT_CHANGE_MEMORY_BYTES = 144
/** Places of event streams and waiting polls together; each may be open for hours. */
export const WAITING_CALLS_MAX = 1_000
/** Characters of a query that take one place more: with its filter, and the looks at it, they take several times as many bytes. */
export const WAITING_PLACE_CHARACTERS = 1024
/** Share of them for one account. */
export const ACCOUNT_WAITING_CALLS_SHARE = 1 / 4
/** Between looks at event streams and waiting polls: whether they go on. */
export const WAITING_CALLS_LOOK_MS = 500
/** Longest wait of a poll; common proxies give up after 60 s. */
export const POLL_WAIT_SECONDS_MAX = 50
/** Changes within this time go out in one write. */
export const EVENTS_PAUSE_MS = 20
/** An event stream without an event for so long gets a comment at the next look: one at least every 15 s. */
export const EVENTS_COMMENT_MS = 12_000
/** A client that tries again does so after this time. */
export const EVENTS_RETRY_MS = 2_000
/** Events that may wait for the reader of a stream; the stream ends at the look after EVENTS_LATE_LOOKS_MAX that find more. */
export const EVENTS_WAITING_BYTES_MAX = 1024 * 1024
export const EVENTS_LATE_LOOKS_MAX = 2
/** Approximate length of one write to an event stream. */
export const EVENTS_PIECE_BYTES = 128 * 1024
/** Changes that are looked at for one write to an event stream. */
export const EVENTS_LOOKED_AT_MAX = 1_000

/** Changes that wait for the disk; one more is refused with 503. */
export const WAITING_CHANGES_MAX = 10_000
/** Updates at once: each change makes one by name and id, and one of each order in use. A larger import is applied in slices. */
export const UPDATES_AT_ONCE_MAX = 1_000
/** Longest --etcd-prefix. */
export const ETCD_PREFIX_CHARACTERS_MAX = 200
/** For one attempt of a call to etcd; then the next member is asked. */
export const ETCD_ATTEMPT_MS = 1_000
/** The same when all records are read, from a member that has just answered. */
export const ETCD_READING_MS = 10_000
/** Between logins at etcd that did not help: each costs etcd a slow hash. */
export const ETCD_LOGIN_PAUSE_MS = 1_000
/** Longest answer of etcd that is read; records are read in ranges of about a thousandth of this. */
export const ETCD_ANSWER_BYTES_MAX = 512 * 1024 * 1024
/** Up to about so many keys are read from etcd, or removed, at once; more in ranges. */
export const CLUSTER_SMALL_RECORDS = 5_000
export const CLUSTER_RANGES_AT_ONCE = 4
/** Changes in one transaction of etcd, whose default of --max-txn-ops is 128; two more operations are the node's. */
export const BATCH_CHANGES_MAX = 120
/** How long a batch waits for more changes, at most. The first of them must come in a share of that, each later one after a pause. */
export const GATHERING_MS_MAX = 50
export const GATHERING_FIRST_SHARE = 1 / 8
export const GATHERING_PAUSE_MS = 2
/** After so long without a change of another node, a node counts on there being none. */
export const CLUSTER_ALONE_MS = 1_000
/** Operations of each transaction within that of an import, three of which are on one way down. */
export const IMPORT_FAN_OUT = 40
/** Changes of an import, and bytes of its keys and values, that fit in one transaction. */
export const CLUSTER_IMPORT_CHANGES_MAX = 4_000
export const CLUSTER_IMPORT_BYTES_MAX = 1024 * 1024
/** How long a change waits for etcd in all. */
export const CLUSTER_CHANGE_MS = 10_000
/** Revocations that expire in the same such span share a lease. */
export const REVOCATION_LEASE_SECONDS = 3600
/** How far the clocks of nodes may differ: no revocation goes before its token has expired on each. */
export const REVOCATION_MARGIN_SECONDS = 3600
/** How long the connection of a watch may be silent until TCP asks whether the member is still there. */
export const ETCD_KEEP_ALIVE_MS = 10_000
/**
 * Batches kept after giving up on them: if the watch still reports one, its lines in the audit trail can have the addresses
 * of its callers.
 */
export const GIVEN_UP_BATCHES_MAX = 16
/** Before a change is sent again that had no answer. */
export const ETCD_RETRY_PAUSE_MS = 50
/** Before a batch that lost to another node is tried again, at random up to this: without it, one node starves. */
export const BATCH_PAUSE_MS_MAX = 10
/** How often a node checks that it hears of all changes. */
export const CLUSTER_CHECK_MS = 1_000
/** How long the watch may be behind such a check before it is begun anew. */
export const CLUSTER_BEHIND_MS = 500
/** A node that knew so long ago that it misses nothing is not ready for changes. */
export const CLUSTER_CURRENT_MS = 3_000
/** Before the watch is begun again, at random up to this. */
export const RECONNECT_PAUSE_MS_MAX = 100
/** Between readings of a cluster that holds what this program cannot read. */
export const CLUSTER_REFUSED_PAUSE_MS = 2_000
/** Before a start asks an etcd again that does not answer. */
export const CLUSTER_START_PAUSE_MS = 500
/** How long a stream waits for what another node has told its reader already. */
export const EVENTS_AHEAD_MS = 1_000
/** After which the key of a node is removed that has changed nothing. */
export const NODE_KEY_DAYS = 30
/** Records, and bytes of their requests, in one transaction of a restore. */
export const ETCD_PUTS_MAX = 120
export const ETCD_PUTS_BYTES_MAX = 512 * 1024
export const RESTORE_TRANSACTIONS_AT_ONCE = 4
/** How often an import is planned anew when other nodes change records meanwhile. */
export const IMPORT_TRIES_MAX = 5
/** How long a change is decided anew when other nodes are faster each time. */
export const OVERTAKEN_MS_MAX = 10_000
/** How long a frame of separate changes is applied before others have their turn. */
export const FRAME_TURN_MS = 5
/** Bytes of a large frame that are encoded or checksummed at once. */
export const FRAME_PIECE_BYTES = 256 * 1024
/** Changes in one journal frame, so in one `fdatasync`. */
export const FRAME_CHANGES_MAX = 1_000
/** A line of a data file. Only an import, which is one journal frame, comes near it; a longer one is refused. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024
/** A smaller journal is not worth a snapshot. */
export const SNAPSHOT_JOURNAL_BYTES_MIN = 4 * 1024 * 1024
/** Records that a snapshot serializes before it lets others run, if their text is not longer than the next limit. */
export const SNAPSHOT_SLICE_RECORDS = 500
export const SNAPSHOT_SLICE_CHARACTERS = 512 * 1024
/** Changes of a large import that are encoded before others run: some 400 without labels, or 15 with 4 KiB of them. */
export const ENCODED_SLICE_CHARACTERS = 64 * 1024
/** Growth of a snapshot between its syncs: a larger sync would delay those of the journal. */
export const SNAPSHOT_SYNC_BYTES = 8 * 1024 * 1024
/** Between attempts to become writable after the disk failed: doubled from the first pause to the last. */
export const RECOVERY_PAUSE_MS_MIN = 500
export const RECOVERY_PAUSE_MS_MAX = 30_000

/** Verified tokens that are cached, so that a steady caller costs no HMAC. */
export const VERIFIED_TOKENS_MAX = 10_000
/** Ended credentials of an account, kept until they would have expired; for one more, all of the account are ended. */
export const ACCOUNT_REVOCATIONS_MAX = 10_000
/** Those of all accounts; beyond it, each logout ends all credentials of its account. */
export const REVOCATIONS_MAX = 1_000_000
/** Ended credentials that a logout looks at, if there are too many, to drop expired ones. */
export const REVOCATIONS_DROPPED_AT_ONCE = 1_000
/** Minimum time between two times that all credentials of an account are ended; each writes the file of accounts. */
export const CREDENTIALS_ENDED_PAUSE_MS = 60_000
/** A smaller revocations file is not worth rewriting. */
export const REVOCATIONS_BYTES_MIN = 1024 * 1024

/** User name or client id. */
export const ACCOUNT_NAME_CHARACTERS_MAX = 255
/** The words of a command in the audit trail. */
export const COMMAND_CHARACTERS_MAX = 64
/** Changes of the password that a user may make in each PASSWORD_CHANGES_WINDOW_MS. */
export const PASSWORD_CHANGES_MAX = 10
export const PASSWORD_CHANGES_WINDOW_MS = 10 * 60_000
/** Shortest password of a user. */
export const PASSWORD_CHARACTERS_MIN = 8
/** Shortest secret of a client that a person chooses. */
export const CHOSEN_SECRET_CHARACTERS_MIN = 16
/** A chosen password or secret; a longer one might not fit into a request. */
export const PASSWORD_BYTES_MAX = 1024
/** Password hashes handed to the thread that checks passwords: it computes one, and has the next at hand. */
export const PASSWORD_HASHES_MAX = 2
/** How long the thread that checks passwords stays without work; a new one takes some 40 ms to start. */
export const ARGON2_WORKER_QUIET_MS = 10_000
/** Address space for the compiled code of that thread; V8 would reserve 128 MiB. */
export const ARGON2_WORKER_CODE_MIB = 8
/** Heap of that thread's JavaScript, which needs some 5 MiB; the memory of a hash is not part of it. */
export const ARGON2_WORKER_HEAP_MIB_MAX = 16
/** Places for password hashes that wait: room for 256 networks that never stop, and as many others. */
export const PASSWORD_QUEUE_MAX = 512
/** A password takes a place for each such part of it while it waits. */
export const PASSWORD_PLACE_CHARACTERS = 1024

/** Callers, and groups of callers, of which a queue remembers that they were served lately. */
export const QUEUE_RECENT_MAX = 4_096
/** One of this many turns in a queue is for those that were served lately, however many others wait. */
export const QUEUE_TURNS_OF_SERVED = 4

/** Failed attempts without a pause, for each account: from an IPv4 address or a /64 of IPv6. */
export const FREE_FAILURES = 10
/** The same from a /24 of IPv4 or a /56 of IPv6, and from a /48. */
export const WIDER_FREE_FAILURES = [40, 160] as const
/** The pause after the last free failure; each further failure doubles it. */
export const THROTTLE_PAUSE_MS_MIN = 30_000
export const THROTTLE_PAUSE_MS_MAX = 15 * 60_000
/** After this time without an attempt, failures are forgotten. */
export const THROTTLE_MEMORY_MS = 60 * 60_000
/** Pairs of network and account that are watched, three for an address of IPv6; beyond it old ones that are not blocked are forgotten. */
export const THROTTLE_PAIRS_MAX = 30_000
/** Those with the fewest failures of twice as many old ones. */
export const THROTTLE_FORGOTTEN_AT_ONCE = 500

/** How long a network is known for an account after a login. */
export const KNOWN_NETWORK_MS = 30 * 24 * 60 * 60_000
/** Networks that are known for an account; the least recent is forgotten. */
export const ACCOUNT_KNOWN_NETWORKS_MAX = 64
/** The same for all accounts. */
export const KNOWN_NETWORKS_MAX = 10_000

/** Smallest `--audit-keep`, for all five files of the audit trail together. */
export const AUDIT_KEEP_BYTES_MIN = 10 * 1024 * 1024
export const AUDIT_KEEP_BYTES_MAX = 1000 * 1024 * 1024 * 1024
/** Without `--audit-keep`: beyond it a new file of the audit trail begins, and the oldest of five is deleted. */
export const AUDIT_FILE_BYTES_MAX = 16 * 1024 * 1024
/** Changes of a store that are kept while its audit trail is read, to name those that a journal lacks. */
export const LISTED_CHANGES_KEPT = 1_000
/** Names in the message about changes that a journal lacks. */
export const LISTED_NAMES_MAX = 20
/** Between writes of lines of changes to the audit trail: a busy server writes many at once. */
export const AUDIT_WRITE_PAUSE_MS = 10
/** Changes that a start lists in its audit trail before it waits for the disk. */
export const UNLISTED_AT_ONCE_MAX = 1_000
/** After a failed write of lines that must not be lost. */
export const AUDIT_RETRY_MS = 1_000
/** Lines that wait for the audit trail; one more is counted and lost. */
export const AUDIT_WAITING_LINES_MAX = 20_000
/** How much of the audit trail is searched in one turn for a history. */
export const TRAIL_PIECE_BYTES = 256 * 1024
/** Ranges of listed changes, with gaps between them, of which a history keeps track. */
export const LISTED_RANGES_MAX = 1_000
/** Changes in the answer to a history. */
export const HISTORY_ENTRIES_MAX = 100
export const HISTORY_ENTRIES_DEFAULT = 20
/** Histories read at once: each holds the changes of its answer, with up to 64 labels each. */
export const HISTORIES_AT_ONCE_MAX = 2
/** Histories that wait; one more is refused with 503. */
export const HISTORIES_WAITING_MAX = 1_000
/** Lost changes that a recovery lists by name. */
export const LOST_CHANGES_LISTED_MAX = 20
/** Failed attempts listed in each ATTEMPTS_WINDOW_MS: per network, and in all. */
export const ATTEMPTS_LISTED_MAX = 30
export const ALL_ATTEMPTS_LISTED_MAX = 300
export const ATTEMPTS_WINDOW_MS = 60_000
/** Logins, logouts and tokens listed in each SUCCESSES_WINDOW_MS: per account and network, per account, and in all. */
export const SUCCESSES_LISTED_MAX = 10
export const ACCOUNT_SUCCESSES_LISTED_MAX = 30
export const ALL_SUCCESSES_LISTED_MAX = 300
export const SUCCESSES_WINDOW_MS = 10 * 60_000

/** Signing keys of a folder, superseded ones included; one more is refused. */
export const KEYS_MAX = 16
/** How long a busy server may still sign with a superseded key. */
export const KEY_TAKE_UP_SECONDS = 60
/** Longest time that an option can set, and so the longest lifetime of a session or token. */
export const DURATION_SECONDS_MAX = 400 * 24 * 60 * 60

export const HEALTHCHECK_TIMEOUT_MS = 3_000

/** How long a server may be silent before a command gives up. */
export const CALL_SILENCE_MS = 30_000
/** How long the completion of a shell waits for the names of records. */
export const COMPLETION_MS = 300
/** A command sends a longer body only when the server wants it. */
export const CALL_UNASKED_BYTES_MAX = 64 * 1024
/** How long a command waits for the server to want the body; then it sends it anyway. */
export const CALL_CONTINUE_MS = 3_000
/** A longer answer to a command is refused. The longest has the names of a trial import. */
export const CALL_ANSWER_BYTES_MAX = 16 * 1024 * 1024
/** Longest record or event that a command accepts from a server; a connbook sends no longer ones. */
export const SERVED_RECORD_CHARACTERS_MAX = 1024 * 1024
/** Shortest pause before a call is repeated, whatever the server asks for. */
export const CALL_PAUSE_MS_MIN = 100
/** Until the last repetition of a call that was answered 429 or 503. */
export const CALL_RETRY_MS = 30_000

/** How often a running server looks for changed accounts and keys. */
export const CREDENTIALS_POLL_MS = 500
/** How long a command waits for a lock: of accounts and keys, or of kept logins. */
export const LOCK_WAIT_MS = 5_000
export const LOCK_PAUSE_MS = 20

/** Whoever asks for the metrics in this time gets the same text. */
export const METRICS_KEPT_MS = 500
