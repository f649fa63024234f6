import { ConnbookError, systemCode, TrailUnavailableError } from '../errors.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { isObject, printableJson } from '../json.ts'
import type { Log } from '../log.ts'
import type { Access } from '../store/access.ts'
import type { Configuration } from '../store/configuration.ts'
import { storeOfTag } from '../store/list-tag.ts'
import { timestamp } from '../timestamp.ts'
import type { AuditTrail } from './audit-trail.ts'
import { entryOf, type HistoryEntry, idOf } from './history-entry.ts'
import { type AllHistory, type HistoryQuery, HistoryWalk } from './history-walk.ts'
import type { PastChange } from './past-records.ts'
import type { TrailLine } from './trail-lines.ts'
import { scanTrail, TRAIL_PIECE_BYTES, type TrailSearch, type Turn } from './trail-scan.ts'

/** How much of the audit trail is searched in one turn where every line is parsed, and its change undone: 1 to 3 ms. */
export const PARSED_BYTES_A_TURN = 32 * 1024

const UNAVAILABLE =
  'Cannot tell what happened: the audit trail cannot be read or written now; see the log, and try again later'

export interface RecordHistory {
  /** Newest first. */
  readonly history: readonly HistoryEntry[]
  /** RFC 3339. All changes of the record after it are in `history`. */
  readonly since: string
}

/** The records at the moment of the question. */
export interface AskedRecords {
  readonly store: string
  readonly revision: number
}

interface FoundEntry {
  readonly revision: number
  readonly entry: HistoryEntry
}

/** Whose history is read by somebody who does not see all records. */
export interface SeenName {
  readonly name: string
  readonly access: Access
  readonly limit: number
}

/** Reads from the audit trail what happened to records. */
export class RecordHistories {
  readonly #folder: DataPaths
  readonly #trail: Pick<AuditTrail, 'written'>
  readonly #log: Log

  constructor(folder: DataPaths, trail: Pick<AuditTrail, 'written'>, log: Log) {
    this.#folder = folder
    this.#trail = trail
    this.#log = log
  }

  /** The id of the last record that had a name; undefined if the trail names none. @throws {TrailUnavailableError} */
  async findLastHolder(asked: AskedRecords, name: string, turn: Turn): Promise<number | undefined> {
    let last: { readonly revision: number; readonly id: number } | undefined
    await this.#search(asked, turn, {
      text: printableJson(name),
      turnBytes: TRAIL_PIECE_BYTES,
      take(line, revision) {
        const id = idOf(line)
        if (id !== undefined && namesOf(line).includes(name) && revision > (last?.revision ?? 0))
          last = { revision, id }
      },
      isDone: (listed) => isListedAfter(listed.find(asked.revision), last),
    })
    return last?.id
  }

  /**
   * The last changes of a record, up to `limit`. Those of an earlier store do not count.
   *
   * @throws {TrailUnavailableError}
   */
  async read(asked: AskedRecords, id: number, limit: number, turn: Turn): Promise<RecordHistory> {
    const now = timestamp()
    /** Falling. */
    const found: FoundEntry[] = []
    const listed = await this.#search(asked, turn, {
      text: `"id":${id},`,
      turnBytes: TRAIL_PIECE_BYTES,
      take(line, revision) {
        const entry = idOf(line) === id ? entryOf(line) : undefined
        if (entry !== undefined) insert(found, { revision, entry }, limit)
      },
      isDone: (listed) =>
        (found.length === limit || found.some(isAddition)) &&
        isListedAfter(listed.find(asked.revision), found.at(-1)),
    })
    const range = listed.find(asked.revision)
    const oldest = found.at(-1)
    const history = found.map(({ entry }) => entry)
    const since = range?.time ?? now
    if (oldest === undefined) return { history, since }
    // There is nothing before an addition; before the last of many, there may be more.
    const isWhole = isAddition(oldest) && isListedAfter(range, oldest)
    const isLater = isWhole || (found.length === limit && oldest.entry.time > since)
    return { history, since: isLater ? oldest.entry.time : since }
  }

  /**
   * The last changes of all records. Those of an earlier store do not count.
   *
   * @param find The record with an id, at the moment of the question; used only if the query has `keeps`.
   * @throws {TrailUnavailableError}
   */
  async readAll(
    asked: AskedRecords,
    query: HistoryQuery,
    find: (id: number) => Configuration | undefined,
    turn: Turn,
  ): Promise<AllHistory> {
    const now = timestamp()
    const { before, keeps } = query
    // With `keeps`, the changes after the place are undone, too.
    const isWhole = before === undefined || keeps !== undefined
    const upTo = isWhole ? asked.revision : Math.min(asked.revision, before.revision)
    const walk = new HistoryWalk(query, upTo, find)
    const listed = await this.#search({ ...asked, revision: upTo }, turn, {
      text: '',
      takesCounts: true,
      turnBytes: PARSED_BYTES_A_TURN,
      take: (line, revision, bytes) => walk.take(line, revision, bytes),
      isDone: (listed) => walk.isDone(listed),
    })
    return turn(() => walk.end(listed, now))
  }

  /**
   * The last changes of a record, as far as they are seen: of the one that has the name, or else of the last one that was
   * seen with it. Undefined if there is none.
   *
   * @param find As for `readAll`. @param present The record that has the name, if it is seen.
   * @throws {TrailUnavailableError}
   */
  async readSeen(
    asked: AskedRecords,
    { name, access, limit }: SeenName,
    present: Configuration | undefined,
    find: (id: number) => Configuration | undefined,
    turn: Turn,
  ): Promise<AllHistory | undefined> {
    let id = present?.id
    if (id === undefined) {
      const keeps = (change: PastChange) => {
        const { before, after } = access.seenChangeOf(change) ?? {}
        if (before?.name !== name && after?.name !== name) return false
        id ??= (after ?? before)?.id
        return true
      }
      await this.readAll(asked, { limit: 1, access, keeps }, find, turn)
    }
    if (id === undefined) return undefined
    const keeps = ({ before, after }: PastChange) => (after ?? before)?.id === id
    return this.readAll(asked, { limit, access, keeps }, find, turn)
  }

  async #search({ store, revision }: AskedRecords, turn: Turn, more: Omit<TrailSearch, 'store' | 'upTo'>) {
    await this.#trail.written().catch((error: unknown) => {
      throw new TrailUnavailableError(UNAVAILABLE, { cause: error })
    })
    try {
      return await scanTrail(this.#folder, { store: storeOfTag(store), upTo: revision, ...more }, turn)
    } catch (error) {
      if (error instanceof ConnbookError || systemCode(error) === undefined) throw error
      this.#log.error('audit_not_read', { reason: String(error) })
      throw new TrailUnavailableError(UNAVAILABLE, { cause: error })
    }
  }
}

function isListedAfter(
  range: { readonly after: number } | undefined,
  change: { readonly revision: number } | undefined,
): boolean {
  return range !== undefined && change !== undefined && range.after < change.revision
}

function isAddition({ entry }: FoundEntry): boolean {
  return entry.event === 'configuration_added'
}

/** Keeps the last ones, each once. */
function insert(found: FoundEntry[], added: FoundEntry, limit: number): void {
  const at = found.findIndex(({ revision }) => revision <= added.revision)
  if (at === -1) found.push(added)
  else if (found[at]?.revision !== added.revision) found.splice(at, 0, added)
  if (found.length > limit) found.pop()
}

/** The names that a change gives a record, or takes from it. */
function namesOf({ record, name, changed }: TrailLine): unknown[] {
  if (isObject(record)) return [record.name]
  const renaming = isObject(changed) && isObject(changed.name) ? [changed.name.after] : []
  return [name, ...renaming]
}
