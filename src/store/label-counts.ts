import { AnswerTooLargeError } from '../errors.ts'
import type { LongWork } from '../scheduler.ts'
import { TEXT_HASHES } from '../text-hash.ts'
import type { Configuration } from './configuration.ts'
import { GROUP_KEY, groupsIn, type Labels } from './labels.ts'
import type { Matcher } from './record-filter.ts'
import { ITEMS_A_STEP, inSteps } from './slices.ts'
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
/** Different sets of labels that are remembered, and their share of the texts that are held at once. */
const SETS_MAX = 8_192
const SETS_SHARE = 1 / 8

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
  const kept = yield* keptOf(leaves, matches, Math.min(SETS_MAX, SETS_SHARE * textsMax))
  const countedMax = textsMax - kept.sets.size
  const [keys = { top: [], size: 0 }] = yield* countAll(
    kept,
    1,
    LABEL_KEYS_LISTED_MAX,
    countedMax,
    (labels, records, counts) => {
      for (const key in labels) counts.add(0, key, records)
    },
  )
  const groups = new Map(keys.top.map(([key], group) => [key, group]))
  const members = new RememberedMembers()
  const values = yield* countAll(
    kept,
    groups.size,
    LABEL_VALUES_LISTED_MAX,
    countedMax,
    (labels, records, counts) => {
      for (const key in labels) {
        const group = groups.get(key)
        if (group === undefined) continue
        const value = labels[key] ?? ''
        if (key !== GROUP_KEY) counts.add(group, value, records)
        else for (const member of members.of(value)) counts.add(group, member, records)
      }
    },
  )
  const labels = keys.top.map(([key, count], group) => {
    const { top = [], size = 0 } = values[group] ?? {}
    return { key, count, values: top.map(([value, count]) => ({ value, count })), more: size - top.length }
  })
  return { labels, more: keys.size - labels.length }
}

/** The labels of the records that a filter keeps. */
interface Kept {
  /** How many records have them. Equal labels are mostly one object, so that few of these have to be looked at. */
  readonly sets: ReadonlyMap<Labels, { readonly records: number }>
  readonly leaves: Leaves
  /** A byte for each record, in the order of the leaves: 1 if its labels are not in `sets`, which had no room for them. */
  readonly isOther: Uint8Array
}

/** Asks the filter once for each record: it may take much longer than a look at the labels. */
function* keptOf(leaves: Leaves, matches: Matcher, setsMax: number): LongWork<Kept> {
  const sets = new Map<Labels, { records: number }>()
  const isOther = new Uint8Array(leaves.reduce((sum, { length }) => sum + length, 0))
  let at = -1
  for (const leaf of leaves) {
    for (const record of leaf) {
      at += 1
      const { labels } = record
      if (labels === undefined || !matches(record)) continue
      const known = sets.get(labels)
      if (known !== undefined) known.records += 1
      else if (sets.size < setsMax) sets.set(labels, { records: 1 })
      else isOther[at] = 1
    }
    yield
  }
  return { sets, leaves, isOther }
}

/**
 * The most frequent texts of each group.
 *
 * @param take Adds the texts of labels to the counts, for so many records.
 */
function* countAll(
  { sets, leaves, isOther }: Kept,
  groups: number,
  listedMax: number,
  textsMax: number,
  take: (labels: Labels, records: number, counts: TextCounts) => void,
): LongWork<readonly Listed[]> {
  let all: readonly Listed[] = Array.from({ length: groups }, () => ({ top: [], size: 0 }))
  for (let from = 0; from < TEXT_HASHES; ) {
    const counts = new TextCounts(textsMax, from)
    let looked = 0
    for (const [labels, { records }] of sets) {
      take(labels, records, counts)
      if (counts.isTooLarge) yield* makeRoom(counts, from)
      looked += 1
      if (looked % ITEMS_A_STEP === 0) yield
    }
    let at = -1
    for (const leaf of leaves) {
      for (const record of leaf) {
        at += 1
        if (isOther[at] !== 1) continue
        take(record.labels ?? {}, 1, counts)
        if (counts.isTooLarge) yield* makeRoom(counts, from)
      }
      yield
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

/** @param from Where the range of the counts begins. @throws {AnswerTooLargeError} if too few texts would be left in it. */
function* makeRoom(counts: TextCounts, from: number): LongWork<void> {
  yield* counts.shrink()
  if (from === 0 && counts.to < TEXT_HASHES / PARTS_MAX) throw new AnswerTooLargeError(TOO_MANY)
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
