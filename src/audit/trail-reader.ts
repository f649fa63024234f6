import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import { LOST_CHANGES_LISTED_MAX } from '../limits.ts'
import { parseListTag, storeOfTag } from '../store/list-tag.ts'
import { forEachTrailLine, recordOf, type TrailLine } from './trail-lines.ts'

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

const CHANGE_EVENT = 'configuration_'
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
  const ownTag = storeOfTag(store)
  const changes: NamedChange[] = []
  let count = 0
  let highest = revision
  await forEachEvent(folder, `"tag":"${ownTag}-`, (line) => {
    const tag = parseListTag(line.tag)
    if (tag?.store !== ownTag || tag.revision <= revision) return
    highest = Math.max(highest, tag.revision)
    const change = parseNamedChange(line, tag.revision)
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

/** Visits the lines that hold a text, the newest file first. */
async function forEachEvent(
  folder: DataPaths,
  text: string,
  visit: (line: TrailLine) => void,
): Promise<void> {
  for (const name of auditFiles) await forEachTrailLine(folder, name, [text], visit)
}

function parseNamedChange(line: TrailLine, revision: number): NamedChange | undefined {
  const { event } = line
  const record = recordOf(line)
  if (typeof event !== 'string' || !event.startsWith(CHANGE_EVENT) || record === undefined) return undefined
  return { revision, kind: event.slice(CHANGE_EVENT.length), ...record }
}

/** Adds a change in its place, and drops the first if there are too many. */
function keepLast(changes: NamedChange[], change: NamedChange) {
  const before = changes.findLastIndex(({ revision }) => revision <= change.revision)
  changes.splice(before + 1, 0, change)
  if (changes.length > LOST_CHANGES_LISTED_MAX) changes.shift()
}
