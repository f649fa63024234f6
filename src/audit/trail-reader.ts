import { ifPresent, systemCode } from '../errors.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import { forEachLine } from '../files/lines.ts'
import { isObject, parseJson } from '../json.ts'
import { LOST_CHANGES_LISTED_MAX } from '../limits.ts'
import { parseListTag } from '../store/list-tag.ts'

/** A change that the audit trail names. */
export interface NamedChange {
  readonly revision: number
  /** "added", "modified" or "deleted". */
  readonly kind: string
  readonly id: number
  /** For a modification, the name before it. */
  readonly name: string
}

export interface NamedChanges {
  /** The last LOST_CHANGES_LISTED_MAX of them, by rising revision. */
  readonly changes: readonly NamedChange[]
  /** How many there are. A large import names no records, so revisions may be more. */
  readonly count: number
  /** The highest revision that any line names; that of the call if none is above it. */
  readonly revision: number
}

/** How lines are tagged with a revision of a store. */
const TAG_DIGITS = 8
const CHANGE_EVENT = 'configuration_'
/** Leaves room above for the next ids and revisions, however damaged a line is. */
const NUMBER_MAX = 10 ** 15

/**
 * Lists the changes of a store that its audit trail names above a revision. Skips lines that cannot be read; lines of
 * earlier versions name no revision.
 *
 * @param store The whole id.
 */
export async function listChangesAfter(
  folder: DataPaths,
  store: string,
  revision: number,
): Promise<NamedChanges> {
  const tag = `${store.slice(0, TAG_DIGITS)}-`
  const changes: NamedChange[] = []
  let count = 0
  let highest = revision
  await forEachEvent(folder, `"tag":"${tag}`, (line) => {
    const found = revisionOf(line, tag)
    if (found === undefined || found <= revision) return
    highest = Math.max(highest, found)
    const change = parseNamedChange(line, found)
    if (change === undefined) return
    count += 1
    keepLast(changes, change)
  })
  return { changes, count, revision: highest }
}

/** The highest id of a record that any line names, of whatever store; 0 if none does. */
export async function findHighestId(folder: DataPaths): Promise<number> {
  let highest = 0
  await forEachEvent(folder, `"event":"${CHANGE_EVENT}`, (line) => {
    highest = Math.max(highest, recordOf(line)?.id ?? 0)
  })
  return highest
}

/** The highest revision that any line names, of whatever store; 0 if none does. */
export async function findHighestRevision(folder: DataPaths): Promise<number> {
  let highest = 0
  await forEachEvent(folder, '"tag":"', ({ tag }) => {
    highest = Math.max(highest, parseListTag(tag)?.revision ?? 0)
  })
  return highest
}

/** Visits each line that holds a text and can be parsed, the newest file first. */
async function forEachEvent(
  folder: DataPaths,
  text: string,
  visit: (line: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  for (const name of auditFiles) {
    await using opened = new AsyncDisposableStack()
    const file = await ifPresent(folder.files.open(folder.file(name), 'r'), ['ENOENT', 'EIO'])
    if (file === undefined) continue
    opened.defer(() => file.close())
    const reading = forEachLine(file, (line) => {
      if (!line.includes(text)) return
      // A torn write can leave NULs before the next line.
      const parsed = parseJson(line.toString('utf8').replace(/^\0+/, ''))
      if (isObject(parsed)) visit(parsed)
    })
    await reading.catch((error: unknown) => {
      // A bad block: the lines before it count.
      if (systemCode(error) !== 'EIO') throw error
    })
  }
}

function revisionOf({ tag }: Readonly<Record<string, unknown>>, start: string): number | undefined {
  if (typeof tag !== 'string' || !tag.startsWith(start)) return undefined
  const digits = tag.slice(start.length)
  return /^\d{1,16}$/.test(digits) && Number(digits) <= NUMBER_MAX ? Number(digits) : undefined
}

function parseNamedChange(
  line: Readonly<Record<string, unknown>>,
  revision: number,
): NamedChange | undefined {
  const { event } = line
  const record = recordOf(line)
  if (typeof event !== 'string' || !event.startsWith(CHANGE_EVENT) || record === undefined) return undefined
  return { revision, kind: event.slice(CHANGE_EVENT.length), ...record }
}

/** The record that a line names: whole, or by id and name. */
function recordOf(line: Readonly<Record<string, unknown>>): { id: number; name: string } | undefined {
  const { id, name } = isObject(line.record) ? line.record : line
  if (!Number.isSafeInteger(id) || typeof id !== 'number' || id < 1 || id > NUMBER_MAX) return undefined
  return typeof name === 'string' ? { id, name } : undefined
}

/** Adds a change in its place, and drops the first if there are too many. */
function keepLast(changes: NamedChange[], change: NamedChange) {
  const before = changes.findLastIndex(({ revision }) => revision <= change.revision)
  changes.splice(before + 1, 0, change)
  if (changes.length > LOST_CHANGES_LISTED_MAX) changes.shift()
}
