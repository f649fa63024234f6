import type { LongWork } from '../scheduler.ts'
import type { Configuration } from './configuration.ts'
import { GROUP_KEY, groupsIn } from './labels.ts'
import type { Matcher } from './record-filter.ts'
import { SLICE_STEPS } from './slices.ts'

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

interface Counter {
  count: number
}

/** Counts of one key. */
interface Tally extends Counter {
  /** The members, for `group`. */
  readonly values: Map<string, Counter>
  /** By the text of a value, what it counts for; a text is taken apart once. */
  readonly texts: Map<string, Counter | readonly Counter[]>
}

/**
 * Counts keys and values of labels. Of `group` each member counts as a value.
 *
 * @param leaves Records in short arrays: each is one slice.
 */
export function* countLabelValues(
  leaves: Iterable<readonly Configuration[]>,
  matches: Matcher,
): LongWork<LabelCounts> {
  const byKey = new Map<string, Tally>()
  for (const leaf of leaves) {
    for (const record of leaf)
      if (record.labels !== undefined && matches(record)) countOne(record.labels, byKey)
    yield
  }
  // One by one: an array of a million would hold up everybody.
  const tallies = byKey.entries().map(([key, tally]) => [key, tally.count, tally] as const)
  const top = yield* mostFrequent(tallies, LABEL_KEYS_LISTED_MAX)
  const labels: KeyCount[] = []
  for (const [key, count, { values }] of top) {
    const counts = values.entries().map(([value, counter]) => [value, counter.count] as const)
    const listed = yield* mostFrequent(counts, LABEL_VALUES_LISTED_MAX)
    labels.push({
      key,
      count,
      values: listed.map(([value, count]) => ({ value, count })),
      more: values.size - listed.length,
    })
  }
  return { labels, more: byKey.size - labels.length }
}

/** Texts of groups whose members are remembered while they are counted. */
const GROUP_TEXTS_MAX = 10_000

function countOne(labels: Readonly<Record<string, string>>, byKey: Map<string, Tally>) {
  for (const key in labels) {
    const value = labels[key] ?? ''
    let tally = byKey.get(key)
    if (tally === undefined) {
      const values = new Map<string, Counter>()
      // With any other key, a text is its only value.
      tally = { count: 0, values, texts: key === GROUP_KEY ? new Map() : values }
      byKey.set(key, tally)
    }
    tally.count += 1
    const counted = tally.texts.get(value) ?? addText(key, value, tally)
    if ('count' in counted) counted.count += 1
    else for (const counter of counted) counter.count += 1
  }
}

function addText(key: string, text: string, { values, texts }: Tally): Counter | readonly Counter[] {
  const counterOf = (value: string) => {
    const known = values.get(value)
    if (known !== undefined) return known
    const counter = { count: 0 }
    values.set(value, counter)
    return counter
  }
  if (key !== GROUP_KEY) return counterOf(text)
  const counters = membersOf(text).map(counterOf)
  // Each holds as many references as it has members.
  if (texts.size < GROUP_TEXTS_MAX) texts.set(text, counters)
  return counters
}

/** Without a member, the whole text, so that a filter finds it. */
function membersOf(value: string): readonly string[] {
  const groups = groupsIn(value)
  return groups.length === 0 ? [value] : groups
}

/** The first ones by falling count, then by rising text, in slices. */
function* mostFrequent<Entry extends readonly [text: string, count: number, ...rest: unknown[]]>(
  entries: Iterable<Entry>,
  max: number,
): LongWork<Entry[]> {
  const isBefore = ([text, count]: Entry, other: Entry) =>
    count > other[1] || (count === other[1] && text < other[0])
  const top: Entry[] = []
  let steps = 0
  for (const entry of entries) {
    steps += 1
    if (steps % SLICE_STEPS === 0) yield
    const last = top.at(-1)
    if (top.length === max && last !== undefined && !isBefore(entry, last)) continue
    let [low, high] = [0, top.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const at = top[middle]
      if (at !== undefined && isBefore(at, entry)) low = middle + 1
      else high = middle
    }
    top.splice(low, 0, entry)
    if (top.length > max) top.pop()
  }
  return top
}
