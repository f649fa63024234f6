import { NOTED_NAME_BYTES } from '../limits.ts'
import type { LongWork } from '../scheduler.ts'
import type { Configuration } from '../store/configuration.ts'
import type { Matcher } from '../store/record-filter.ts'
import { ITEMS_A_STEP, inSteps } from '../store/slices.ts'
import type { ExportFormat } from './export-format.ts'
import { type ExportNotes, TextFilter } from './export-notes.ts'
import { hasHops, hostOfHop, namesInHops } from './hops.ts'

// What an export notes of all records before it is sent.

/** Memory of a record that is a hop, and of what a format notes of it; the record itself is in memory anyway. */
const HOP_BYTES = 3 * NOTED_NAME_BYTES

/**
 * Those that some record goes through, and those whose name is the host of such a one, with some others. Names of no record
 * take no memory, however many there are.
 */
export function* findHops(
  records: Iterable<Configuration>,
  seen: Matcher | undefined,
  notes: ExportNotes,
  total: number,
): LongWork<ReadonlyMap<string, Configuration>> {
  const before = notes.bytes
  const found = new Map<string, Configuration>()
  const isSeen = (record: Configuration) => seen === undefined || seen(record)
  let isAny = false
  const names = new TextFilter(total, notes)
  yield* inSteps(records, (record) => {
    if (!hasHops(record) || !isSeen(record)) return
    isAny = true
    for (const name of namesInHops(record)) {
      names.add(name)
      names.add(hostOfHop({ word: name }))
    }
  })
  if (!isAny) {
    notes.reduceTo(before)
    return found
  }
  const hosts = new TextFilter(total, notes)
  const note = (record: Configuration) => {
    if (found.has(record.name) || !isSeen(record)) return
    notes.add(HOP_BYTES)
    found.set(record.name, record)
    hosts.add(hostOfHop({ word: record.name, record }))
  }
  yield* inSteps(records, (record) => names.mayHave(record.name) && note(record))
  yield* inSteps(records, (record) => hosts.mayHave(record.name) && note(record))
  notes.reduceTo(before + HOP_BYTES * found.size)
  return found
}

/** The keys of more than one record. */
export function* findClashes(
  keyOf: ExportFormat['keyOf'],
  records: Iterable<Configuration>,
  matches: Matcher | undefined,
  notes: ExportNotes,
  total: number,
): LongWork<ReadonlySet<string>> {
  const clashes = new Set<string>()
  if (keyOf === undefined || (yield* areNames(keyOf, records))) return clashes
  const isMeant = (record: Configuration) => matches === undefined || matches(record)
  const bytesOf = (key: string) => NOTED_NAME_BYTES + key.length
  const before = notes.bytes
  const [once, again] = [new TextFilter(total, notes), new TextFilter(total, notes)]
  yield* inSteps(records, (record) => {
    if (!isMeant(record)) return
    const key = keyOf(record)
    if (once.add(key)) again.add(key)
  })
  const known = new Set<string>()
  yield* inSteps(records, (record) => {
    const key = keyOf(record)
    if (!again.mayHave(key) || clashes.has(key) || !isMeant(record)) return
    notes.add(bytesOf(key))
    if (known.has(key)) clashes.add(key)
    else known.add(key)
  })
  notes.reduceTo(before)
  for (const key of clashes) notes.add(bytesOf(key))
  return clashes
}

/** Whether the key of each record is its name: no other one has that. Looks at none behind the first that is not. */
function* areNames(
  keyOf: (record: Configuration) => string,
  records: Iterable<Configuration>,
): LongWork<boolean> {
  let looked = 0
  for (const record of records) {
    if (keyOf(record) !== record.name) return false
    looked += 1
    if (looked % ITEMS_A_STEP === 0) yield
  }
  return true
}
