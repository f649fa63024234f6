import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { RECORDS_MEMORY_LEAST_BYTES } from './limits.ts'

/** Share of the memory that the build gives to JavaScript, as --max-old-space-size-percentage. */
export const HEAP_SHARE = 0.5

const MEBIBYTE = 1024 * 1024
/** Node's share for new objects, which it adds to that of the build. */
const YOUNG_BYTES = 3 * 8 * MEBIBYTE
/** Shares grow with the memory up to this: more would only help attackers. */
const SHARED_MEMORY_BYTES_MAX = 8 * 1024 * MEBIBYTE

/** What the process takes, whatever its memory: MiB in all, and those of them that JavaScript takes. */
const fixed: readonly (readonly [what: string, mebibytes: number, heapMebibytes: number])[] = [
  // At rest, and the parts of the file that are always in use.
  ['the program', 40, 12],
  ['new objects', 24, 24],
  // One at a time, on a thread of its own.
  ['the check of a password', 34, 0],
  // RECENT_CHANGES_BYTES_MAX
  ['recent changes', 8, 8],
  // LABELS_SHARED_BYTES_MAX
  ['labels that new records share', 4, 4],
  // HISTORIES_AT_ONCE_MAX of HISTORY_ENTRIES_MAX changes with 64 labels each, and the entries and the text of
  // LONG_HISTORIES_AT_ONCE_MAX answers of HISTORY_CHARACTERS_MAX
  ['histories', 5, 5],
  // VERIFIED_TOKENS_CHARACTERS_MAX, THROTTLE_PAIRS_MAX, WAITING_CALLS_MAX, and remembered pages
  ['tokens, failed logins, waiting calls and pages', 8, 8],
]

/** Shares of the memory that callers can fill, and how much of each is in the heap of JavaScript. */
const shares = {
  /** By PLAIN_CONNECTION_BYTES or TLS_CONNECTION_BYTES each. */
  connections: { share: 1 / 8, heapShare: 1 / 32 },
  /** Requests that wait for an earlier one, one a connection, and what was read beyond them. */
  waiting: { share: 1 / 32, heapShare: 0 },
  /** Answers that nobody has taken yet, by UNTAKEN_CHARACTER_BYTES. */
  untaken: { share: 1 / 64, heapShare: 0 },
  /** Bodies that have not arrived as a whole. */
  arriving: { share: 1 / 64, heapShare: 0 },
  /** Replaced records that answers in pieces still need, and what these answers have noted. */
  keptVersions: { share: 1 / 64, heapShare: 1 / 64 },
  /** What exports note of records before they are sent. */
  exportNotes: { share: 1 / 64, heapShare: 1 / 64 },
  /** Different keys, values and sets of labels in a count, by COUNTED_TEXT_BYTES. */
  labelCounts: { share: 1 / 128, heapShare: 1 / 128 },
} as const

const fixedBytes = MEBIBYTE * fixed.reduce((sum, [, mebibytes]) => sum + mebibytes, 0)
const fixedHeapBytes = MEBIBYTE * fixed.reduce((sum, [, , heapMebibytes]) => sum + heapMebibytes, 0)
const sharesSum = Object.values(shares).reduce((sum, { share }) => sum + share, 0)
const heapSharesSum = Object.values(shares).reduce((sum, { heapShare }) => sum + heapShare, 0)

/** Bytes that callers can make the process hold in one way. @param memory Bytes that this process may use. */
export function shareOf(what: keyof typeof shares, memory = memoryBytes()): number {
  return sharedBytes(memory) * shares[what].share
}

/**
 * Bytes that records may take, with the imports that make them: what the process and all shares leave.
 *
 * @param memory Bytes that this process may use. @param heap Of these, for JavaScript.
 */
export function recordMemoryMax(memory = memoryBytes(), heap = heapBytesMax()): number {
  const shared = sharedBytes(memory)
  const free = Math.min(
    memory - fixedBytes - shared * sharesSum,
    heap - fixedHeapBytes - shared * heapSharesSum,
  )
  return Math.max(free, RECORDS_MEMORY_LEAST_BYTES)
}

/** The memory with which records may take as many bytes. */
export function memoryNeededFor(recordBytes: number): number {
  return Math.max(
    (recordBytes + fixedBytes) / (1 - sharesSum),
    (recordBytes + fixedHeapBytes - YOUNG_BYTES) / (HEAP_SHARE - heapSharesSum),
  )
}

function sharedBytes(memory: number): number {
  return Math.min(memory, SHARED_MEMORY_BYTES_MAX)
}

/** What this process may use: the memory of the host, or the limit of its control group if that is lower. */
export function memoryBytes(): number {
  // 0 where no limit is known.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem())
}

/** What JavaScript may use: Node's own limit can be above what there is. */
export function heapBytesMax(): number {
  return Math.min(getHeapStatistics().heap_size_limit, memoryBytes())
}
