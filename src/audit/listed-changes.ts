import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import { printableJson } from '../json.ts'
import type { Listed, ListedChanges } from '../storage/change-trail.ts'
import { parseListTag, storeOfTag } from '../store/list-tag.ts'
import {
  type AuditFileName,
  countUnlisted,
  forEachTrailLine,
  isOfMany,
  recordOf,
  revisionBefore,
  type TrailLine,
  type TrailPlace,
} from './trail-lines.ts'

/** Changes of a store that are kept while its audit trail is read, to name those that a journal lacks. */
const LISTED_CHANGES_KEPT = 1_000
/** Names in the message about changes that a journal lacks. */
export const LISTED_NAMES_MAX = 20
/** Lines that do not follow on another one: so many are kept. */
const STRAYS_KEPT = 100

const TAG_START = '"tag":"'
const START = '"event":"started"'
const LOSS = '"event":"lines_lost"'

interface TaggedLine {
  readonly store: string
  readonly revision: number
  readonly line: TrailLine
  readonly file: AuditFileName
  readonly place: TrailPlace
}

/** Lines of a file of the trail that are damaged, or stand without the lines before them. */
export interface DamagedLines {
  readonly file: AuditFileName
  /** The first one, from 1. */
  readonly line: number
  readonly count: number
}

/** Advice for a trail that cannot be read as a whole; the records do not depend on it. */
export interface TrailFaults {
  /** Called if the disk cannot read a part of the files (EIO). */
  readonly onUnreadable?: () => void
  /** Gets each file with lines that are damaged, or without the lines before them. */
  readonly onDamaged?: (damaged: DamagedLines) => void
}

/**
 * Reads what the files of a trail list, from the last start of a server on. Lines that are torn or damaged count as not
 * listed, and so do those after a block that the disk cannot read.
 *
 * @returns Undefined for a store that no line names: then the lines of its changes must not be made up.
 * @throws the system's error, but for EIO.
 */
export async function readListedChanges(
  folder: DataPaths,
  { onUnreadable = () => {}, onDamaged = () => {} }: TrailFaults = {},
): Promise<Listed> {
  const stores = new Map<string, StoreLines>()
  const damaged = new Map<AuditFileName, DamagedLines>()
  const addDamaged = (file: AuditFileName, number: number) => {
    const { line = number, count = 0 } = damaged.get(file) ?? {}
    damaged.set(file, { file, line: Math.min(line, number), count: count + 1 })
  }
  let lost = 0
  const onLost = (count: number) => {
    lost += count
  }
  for (const name of await filesSinceStart(folder, onUnreadable)) {
    const visit = (tagged: TaggedLine) => {
      const lines = stores.get(tagged.store) ?? new StoreLines()
      stores.set(tagged.store, lines)
      if (!lines.take(tagged, lost)) addDamaged(name, tagged.place.number)
    }
    const onDamagedLine = (line: number) => addDamaged(name, line)
    const isRead = await forEachTaggedLine(folder, name, [TAG_START, LOSS], visit, onDamagedLine, onLost)
    if (!isRead) onUnreadable()
  }
  // A damaged line may be the one that a stray follows on.
  const strays = damaged.size > 0 ? [] : [...stores.values()].flatMap((lines) => lines.strays())
  for (const { file, place } of strays) addDamaged(file, place.number)
  for (const lines of damaged.values()) onDamaged(lines)
  return (store) => stores.get(storeOfTag(store))
}

/** The file with the last start, and those after it; oldest first. */
async function filesSinceStart(folder: DataPaths, onUnreadable: () => void): Promise<AuditFileName[]> {
  const names: AuditFileName[] = []
  for (const name of auditFiles) {
    names.unshift(name)
    let hasStart = false
    const visit = (tagged: TaggedLine) => (hasStart ||= isStart(tagged))
    if (!(await forEachTaggedLine(folder, name, [START], visit))) onUnreadable()
    if (hasStart) break
  }
  return names
}

/** @param onLost Gets each number of lines that the trail says it lacks. @returns As `forEachTrailLine`. */
function forEachTaggedLine(
  folder: DataPaths,
  file: AuditFileName,
  texts: readonly string[],
  visit: (tagged: TaggedLine) => void,
  onDamaged?: (number: number) => void,
  onLost?: (count: number) => void,
): Promise<boolean> {
  const parse = (line: TrailLine, place: TrailPlace) => {
    const tag = parseListTag(line.tag)
    if (tag !== undefined) visit({ ...tag, line, file, place })
    else if (line.tag !== undefined) onDamaged?.(place.number)
    else if (line.event === 'lines_lost' && Number.isSafeInteger(line.count)) onLost?.(Number(line.count))
  }
  return forEachTrailLine(folder, file, texts, parse, onDamaged)
}

function isStart({ line }: TaggedLine): boolean {
  return line.event === 'started'
}

/** The lines of one store, taken in their order. */
class StoreLines implements ListedChanges {
  claimed = 0
  /** Revision of the last line that follows on another one. */
  #witnessed: number | undefined
  /** Every change up to it is listed, or was made before the trail began. */
  #complete: number | undefined
  /** Lost lines that no later gap comes from: of before the last start, or of an earlier gap. */
  #lostBefore = 0
  /** Listed changes above a gap. */
  readonly #single = new Set<number>()
  /** Listed large changes of many records above a gap. */
  readonly #imports: { readonly first: number; readonly last: number }[] = []
  /** The last ones, with the words that name their records. */
  #last: { readonly revision: number; readonly name: string }[] = []
  /** Lines that do not follow on another one, the last of them. */
  #strays: TaggedLine[] = []

  /** @param lost Lines that the trail says it lacks so far. @returns False if it cannot be what was written. */
  take(tagged: TaggedLine, lost: number): boolean {
    const { revision, line, place } = tagged
    const isOfStart = isStart(tagged)
    const counted = isOfMany(line) ? Math.min(countUnlisted(line), revision) : 0
    const after = isOfStart ? revision : revisionBefore(line, revision - Math.max(counted, 1))
    this.claimed = Math.max(this.claimed, revision)
    // A digit that is damaged must not say that changes are lost, so a line counts that follows on another one.
    if (this.#follows(after, lost)) this.#witnessed = Math.max(this.#witnessed ?? 0, revision)
    else this.#strays = [...this.#strays.slice(1 - STRAYS_KEPT), tagged]
    if (!place.isClean) return true
    if (isOfStart) this.#begin(revision, lost)
    else if (isOfMany(line)) {
      if (counted > 0) this.#add(revision - counted + 1, revision)
    } else {
      const record = recordOf(line)
      if (record === undefined) return false
      this.#add(after + 1, revision)
      const { id, name } = record
      this.#last.push({ revision, name: `${printableJson(name)} (id ${id})` })
      if (this.#last.length > 2 * LISTED_CHANGES_KEPT) this.#last = this.#last.slice(-LISTED_CHANGES_KEPT)
    }
    return true
  }

  get highest(): number {
    return this.#witnessed ?? this.claimed
  }

  /** The last lines that stand alone above all others. */
  strays(): readonly TaggedLine[] {
    return this.#strays.filter(({ revision }) => revision > this.highest)
  }

  #begin(revision: number, lost: number) {
    this.#complete = Math.max(this.#complete ?? 0, revision)
    this.#lostBefore = lost
  }

  /** Whether a line follows on another one, or on lost lines: at most as many changes as lines are lost. */
  #follows(after: number, lost: number): boolean {
    if (this.#complete === undefined) return false
    if (this.has(after)) return true
    const missing = after - Math.max(this.#complete, this.#witnessed ?? 0)
    if (missing < 1 || missing > lost - this.#lostBefore) return false
    this.#lostBefore += missing
    return true
  }

  #add(first: number, last: number) {
    this.#complete ??= first - 1
    if (first > this.#complete + 1) {
      if (first === last) this.#single.add(first)
      else this.#imports.push({ first, last })
      return
    }
    this.#complete = Math.max(this.#complete, last)
    while (this.#single.delete(this.#complete + 1)) this.#complete += 1
  }

  has(revision: number): boolean {
    if (revision <= (this.#complete ?? 0) || this.#single.has(revision)) return true
    return this.#imports.some(({ first, last }) => first <= revision && revision <= last)
  }

  after(revision: number): { count: number; names: string[] } {
    const later = this.#last.filter((listed) => listed.revision > revision)
    const names = later.slice(0, LISTED_NAMES_MAX).map(({ name }) => name)
    return { count: this.highest - revision, names }
  }
}
