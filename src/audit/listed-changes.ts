import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import { isObject, printableJson } from '../json.ts'
import type { Listed, ListedChanges } from '../storage/change-trail.ts'
import { parseListTag, storeOfTag } from '../store/list-tag.ts'
import {
  type AuditFileName,
  countUnlisted,
  forEachTrailLine,
  isOfMany,
  revisionBefore,
  type TrailLine,
} from './trail-lines.ts'

/** Changes of a store that are kept while its audit trail is read, to name those that a journal lacks. */
const LISTED_CHANGES_KEPT = 1_000
/** Names in the message about changes that a journal lacks. */
export const LISTED_NAMES_MAX = 20

const TAG_START = '"tag":"'
const START = '"event":"started"'

interface TaggedLine {
  readonly store: string
  readonly revision: number
  readonly line: TrailLine
  /** Whether nothing but the line stands there; a power loss may leave NULs before it. */
  readonly isClean: boolean
}

/**
 * Reads what the files of a trail list, from the last start of a server on. Lines that are torn or damaged count as not
 * listed, and so do those after a block that the disk cannot read.
 *
 * @param onUnreadable Called if the disk cannot read a part of them (EIO).
 * @returns Undefined for a store that no line names: then the lines of its changes must not be made up.
 * @throws the system's error, but for EIO.
 */
export async function readListedChanges(
  folder: DataPaths,
  onUnreadable: () => void = () => {},
): Promise<Listed> {
  const stores = new Map<string, StoreLines>()
  for (const name of await filesSinceStart(folder, onUnreadable)) {
    const visit = (tagged: TaggedLine) => {
      const lines = stores.get(tagged.store) ?? new StoreLines()
      stores.set(tagged.store, lines)
      lines.take(tagged)
    }
    if (!(await forEachTaggedLine(folder, name, TAG_START, visit))) onUnreadable()
  }
  return (store) => stores.get(storeOfTag(store))
}

/** The file with the last start, and those after it; oldest first. */
async function filesSinceStart(folder: DataPaths, onUnreadable: () => void): Promise<AuditFileName[]> {
  const names: AuditFileName[] = []
  for (const name of auditFiles) {
    names.unshift(name)
    let hasStart = false
    const visit = (tagged: TaggedLine) => (hasStart ||= isStart(tagged))
    if (!(await forEachTaggedLine(folder, name, START, visit))) onUnreadable()
    if (hasStart) break
  }
  return names
}

/** @returns As `forEachTrailLine`. */
function forEachTaggedLine(
  folder: DataPaths,
  name: AuditFileName,
  text: string,
  visit: (tagged: TaggedLine) => void,
): Promise<boolean> {
  return forEachTrailLine(folder, name, text, (line, isClean) => {
    const tag = parseListTag(line.tag)
    if (tag !== undefined) visit({ ...tag, line, isClean })
  })
}

function isStart({ line }: TaggedLine): boolean {
  return line.event === 'started'
}

/** The lines of one store, taken in their order. */
class StoreLines implements ListedChanges {
  highest = 0
  /** Every change up to it is listed, or was made before the trail began. */
  #complete: number | undefined
  /** Listed changes above a gap. */
  readonly #single = new Set<number>()
  /** Listed large changes of many records above a gap. */
  readonly #imports: { readonly first: number; readonly last: number }[] = []
  /** The last ones, with the words that name their records. */
  #last: { readonly revision: number; readonly name: string }[] = []

  take(tagged: TaggedLine): void {
    const { revision, line, isClean } = tagged
    this.highest = Math.max(this.highest, revision)
    if (!isClean) return
    if (isStart(tagged)) this.#complete = Math.max(this.#complete ?? 0, revision)
    else if (isOfMany(line)) {
      const changes = countUnlisted(line)
      if (changes > 0 && changes <= revision) this.#add(revision - changes + 1, revision)
    } else {
      this.#add(revisionBefore(line, revision - 1) + 1, revision)
      this.#last.push({ revision, name: nameOf(line) })
      if (this.#last.length > 2 * LISTED_CHANGES_KEPT) this.#last = this.#last.slice(-LISTED_CHANGES_KEPT)
    }
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

function nameOf({ id, name, record }: TrailLine): string {
  const named = isObject(record) ? record : { id, name }
  return `${printableJson(named.name)} (id ${named.id})`
}
