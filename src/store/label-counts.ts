import { AnswerTooLargeError } from '../errors.ts'
import type { LongWork } from '../scheduler.ts'
import { TEXT_HASHES } from '../text-hash.ts'
import type { Configuration } from './configuration.ts'
import { GROUP_KEY, groupsIn, type Labels } from './labels.ts'
import type { Matcher } from './record-filter.ts'
import { inSteps } from './slices.ts'
import { TextCounts } from './text-counts.ts'

/** The most frequent keys that are listed, and of each the most frequent values. */
export const LABEL_KEYS_LISTED_MAX = 100
export const LABEL_VALUES_LISTED_MAX = 100

export interface LabelCounts {
  /** The most frequent first, then by UTF-16. */
  readonly labels: readonly KeyCount[]
  /** How many other keys there are. */
  readonly more: number
}

interface KeyCount {
  readonly key: string
  /** Records with the label. */
  readonly count: number
  readonly values: readonly ValueCount[]
  /** How many other values there are. */
  readonly more: number
}

interface ValueCount {
  readonly value: string
  readonly count: number
}

/** Counts are refused when only a smaller part of the texts can be counted at once: each part is a look at all labels. */
const PARTS_MAX = 32
/** Members of groups that are remembered, by the text of the label, while they are counted. */
const MEMBERS_REMEMBERED_MAX = 10_000

/** The most frequent of some texts. */
interface Listed {
  readonly top: readonly (readonly [text: string, count: number])[]
  /** How many there are. */
  readonly size: number
}

/** Records in short arrays: each is one step. */
type Leaves = readonly (readonly Configuration[])[]

/**
 * Counts keys and values of labels, exactly. Of `group` each member counts as a value.
 *
 * @param textsMax Different texts that are held at once. For many more of them the labels are looked at several times.
 * @throws {AnswerTooLargeError} for far more of them.
 */
export function* countLabelValues(
  leaves: Leaves,
  matches: Matcher,
  textsMax: number = Number.POSITIVE_INFINITY,
): LongWork<LabelCounts> {
  const kept = yield* keptOf(leaves, matches)
  const [keys = { top: [], size: 0 }] = yield* countAll(
    kept,
    1,
    LABEL_KEYS_LISTED_MAX,
    textsMax,
    (labels, counts) => {
      for (const key in labels) counts.add(0, key)
    },
  )
  const groups = new Map(keys.top.map(([key], group) => [key, group]))
  const members = new RememberedMembers()
  const values = yield* countAll(kept, groups.size, LABEL_VALUES_LISTED_MAX, textsMax, (labels, counts) => {
    for (const key in labels) {
      const group = groups.get(key)
      if (group === undefined) continue
      const value = labels[key] ?? ''
      if (key !== GROUP_KEY) counts.add(group, value)
      else for (const member of members.of(value)) counts.add(group, member)
    }
  })
  const labels = keys.top.map(([key, count], group) => {
    const { top = [], size = 0 } = values[group] ?? {}
    return { key, count, values: top.map(([value, count]) => ({ value, count })), more: size - top.length }
  })
  return { labels, more: keys.size - labels.length }
}

/** Records with labels that a filter keeps. */
interface Kept {
  readonly leaves: Leaves
  /** For each record in turn, 1 if it is one of them. */
  readonly isKept: Uint8Array
}

/** Asks the filter once for each record: it may take much longer than a look at the labels. */
function* keptOf(leaves: Leaves, matches: Matcher): LongWork<Kept> {
  const isKept = new Uint8Array(leaves.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const leaf of leaves) {
    for (const record of leaf) {
      if (record.labels !== undefined && matches(record)) isKept[at] = 1
      at += 1
    }
    yield
  }
  return { leaves, isKept }
}

/**
 * The most frequent texts of each group.
 *
 * @param take Adds the texts of some labels to the counts.
 */
function* countAll(
  { leaves, isKept }: Kept,
  groups: number,
  listedMax: number,
  textsMax: number,
  take: (labels: Labels, counts: TextCounts) => void,
): LongWork<readonly Listed[]> {
  let all: readonly Listed[] = Array.from({ length: groups }, () => ({ top: [], size: 0 }))
  for (let from = 0; from < TEXT_HASHES; ) {
    const counts = new TextCounts(textsMax, from)
    let at = 0
    for (const leaf of leaves) {
      for (const { labels = {} } of leaf) {
        if (isKept[at] === 1) take(labels, counts)
        at += 1
        if (counts.isTooLarge) yield* counts.shrink()
      }
      yield
      if (from === 0 && counts.to < TEXT_HASHES / PARTS_MAX) throw new AnswerTooLargeError(TOO_MANY)
    }
    const next: Listed[] = []
    for (const [group, { top, size }] of all.entries()) {
      const entries = joined(top, counts.entriesOf(group))
      next.push({ top: yield* mostFrequent(entries, listedMax), size: size + counts.sizeOf(group) })
    }
    all = next
    from = counts.to
  }
  return all
}

const TOO_MANY =
  'Cannot count the labels: these records have more different keys or values than there is memory for; narrow the filters, or give connbook more memory'

function* joined<Item>(first: Iterable<Item>, second: Iterable<Item>): Generator<Item> {
  yield* first
  yield* second
}

/** The members of groups; a text that comes again is not taken apart again. */
class RememberedMembers {
  readonly #known = new Map<string, readonly string[]>()
  #count = 0

  /** Without a member, the whole text, so that a filter finds it. */
  of(value: string): readonly string[] {
    const known = this.#known.get(value)
    if (known !== undefined) return known
    const groups = groupsIn(value)
    const members = groups.length === 0 ? [value] : groups
    if (this.#count + members.length <= MEMBERS_REMEMBERED_MAX) {
      this.#count += members.length
      this.#known.set(value, members)
    }
    return members
  }
}

/** The first ones by falling count, then by rising text. */
function* mostFrequent<Entry extends readonly [text: string, count: number]>(
  entries: Iterable<Entry>,
  max: number,
): LongWork<Entry[]> {
  const isBefore = ([text, count]: Entry, other: Entry) =>
    count > other[1] || (count === other[1] && text < other[0])
  const top: Entry[] = []
  yield* inSteps(entries, (entry) => {
    const last = top.at(-1)
    if (top.length === max && last !== undefined && !isBefore(entry, last)) return
    let [low, high] = [0, top.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const at = top[middle]
      if (at !== undefined && isBefore(at, entry)) low = middle + 1
      else high = middle
    }
    top.splice(low, 0, entry)
    if (top.length > max) top.pop()
  })
  return top
}
