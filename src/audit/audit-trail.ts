import { FolderRefusedError, systemCode } from '../errors.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import { IMPORT_AUDITED_RECORDS_MAX } from '../limits.ts'
import type { Log } from '../log.ts'
import type { ChangeTrail } from '../storage/change-trail.ts'
import { type Actor, countTogether, type Notes } from '../store/authorship.ts'
import type { Change } from '../store/change.ts'
import type { Configuration } from '../store/configuration.ts'
import { listTag } from '../store/list-tag.ts'
import { timestamp } from '../timestamp.ts'
import { AuditFile } from './audit-file.ts'
import { type AuditEvent, type AuditFields, auditLine, type ChangePlace, changeLine } from './audit-line.ts'
import { readListedChanges } from './listed-changes.ts'

/** Without `--audit-keep`: beyond it a new file of the audit trail begins, and the oldest of five is deleted. */
export const AUDIT_FILE_BYTES_MAX = 16 * 1024 * 1024
/** Between writes of lines of changes to the audit trail: a busy server writes many at once. */
export const AUDIT_WRITE_PAUSE_MS = 10
/** After a failed write of lines that must not be lost. */
export const AUDIT_RETRY_MS = 1_000
/** Lines that wait for the audit trail; one more is counted and lost. */
export const AUDIT_WAITING_LINES_MAX = 20_000

/** Who did what and when: one JSON line per event in `audit.jsonl`. */
export interface AuditTrail extends ChangeTrail {
  /**
   * Adds a line. Resolves once the operating system has it, so it survives a crash of the process, but a power loss may
   * take the last half minute. Never rejects: lines that cannot be written are counted, and the count is written later.
   *
   * @param actor undefined for what the server does by itself.
   */
  record(event: AuditEvent, actor: Actor | undefined, fields?: AuditFields): Promise<void>
  /**
   * Lists the start of a server. With its tag, the line says that no later start adds lines for changes up to there; it
   * completes those after it. Never rejects.
   *
   * @param tag Of the records, as they are at the start.
   * @returns Whether the line is durable, with its tag.
   */
  begin(tag: string, fields: AuditFields): Promise<boolean>
  /** Resolves once the operating system has the lines of all changes given to `list`. @throws {Error} if it takes none. */
  written(): Promise<void>
  /** Writes the waiting lines and closes the file. */
  close(): Promise<void>
}

/** A line to be written. One that must not be lost is a function, and is made again if a write fails. */
type WaitingLine = string | (() => string)

/**
 * Opens the trail of a folder.
 *
 * @param bytesMax Of one file.
 * @throws {FolderRefusedError} if the file is not a plain one. Also the system's error if this account may not write it;
 *   on a full or failing disk, lines wait or are counted as lost until it works again.
 */
export async function openAuditTrail(
  folder: DataPaths,
  log: Log,
  bytesMax = AUDIT_FILE_BYTES_MAX,
): Promise<AuditTrail> {
  const file = new AuditFile(folder, bytesMax, log)
  await file.open().catch((error: unknown) => {
    if (error instanceof FolderRefusedError) throw error
    if (['EACCES', 'EPERM', 'EROFS', 'EISDIR', 'ELOOP'].includes(systemCode(error) ?? '')) throw error
  })
  let waiting: WaitingLine[] = []
  let lost = 0
  /** Why lines wait that must not be lost, and should have been written. */
  let obstacle: unknown
  /** Whether such a line was lost, because there was no room for it in memory: the journal has to keep its change. */
  let hasGap = false
  /** Whether the disk could not read what is listed already: then nothing says that it is complete. */
  let isUnread = false
  let isClosed = false
  let current: Promise<void> = Promise.resolve()
  /** The write that follows `current` and takes the waiting lines. */
  let next: Promise<void> | undefined
  /** Time of the last write, by the monotonic clock. */
  let wroteMs = Number.NEGATIVE_INFINITY
  /** Writes lines of changes once the pause is over. */
  let timer: NodeJS.Timeout | undefined
  /** Changes of a large import that are still to come. */
  let unlisted = 0

  async function writeWaiting() {
    const lines = waiting
    waiting = []
    next = undefined
    wroteMs = performance.now()
    const count = lost
    if (count > 0) lines.unshift(auditLine(timestamp(), 'lines_lost', undefined, { count }))
    const texts = lines.map((line) => (typeof line === 'string' ? line : line()))
    const { written, error } = await file.append(texts)
    const isKnown = lost > 0 || obstacle !== undefined
    obstacle = undefined
    if (written > 0) lost -= count
    if (error === undefined) return
    if (!isKnown) warn(String(error))
    const left = lines.slice(Math.max(written, count > 0 ? 1 : 0))
    const kept = left.filter((line) => typeof line !== 'string')
    lost += left.length - kept.length
    if (kept.length === 0) return
    obstacle = error
    waiting = [...kept, ...waiting]
    timer ??= setTimeout(write, AUDIT_RETRY_MS).unref()
  }

  function warn(reason: string) {
    log.error('audit_not_written', { file: folder.file(auditFiles[0]), reason })
  }

  /** @returns False if there is no room for it. */
  function add(line: WaitingLine): boolean {
    // A request that was cut off may end after another process has taken the folder.
    if (isClosed) return false
    if (waiting.length < AUDIT_WAITING_LINES_MAX) return waiting.push(line) > 0
    if (lost === 0) warn('too many lines are waiting')
    lost += 1
    hasGap ||= typeof line !== 'string'
    return false
  }

  /** Writes everything that waits. */
  function write(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (next === undefined) {
      next = current.then(writeWaiting)
      current = next
    }
    return next
  }

  /** Nobody waits for the lines of changes. */
  function addChange(line: () => string) {
    if (!add(line) || next !== undefined || timer !== undefined) return
    const pauseMs = wroteMs + AUDIT_WRITE_PAUSE_MS - performance.now()
    if (pauseMs <= 0) void write()
    else timer = setTimeout(write, pauseMs).unref()
  }

  function sync() {
    if (waiting.length > 0) void write()
    const synced = current.then(syncWritten)
    // Nothing is written meanwhile: the file may be replaced.
    current = synced.catch(() => {})
    return synced
  }

  async function syncWritten() {
    if (obstacle !== undefined) throw obstacle
    if (hasGap) throw new Error('lines of changes were lost; the next start completes them from the journal')
    await file.sync().catch((error: unknown) => {
      warn(String(error))
      throw error
    })
  }

  /** Waits for the writes that have begun, and those that begin meanwhile. */
  async function settle() {
    for (let seen: Promise<void> | undefined; seen !== current; ) {
      seen = current
      await seen
    }
  }

  return {
    listed: () =>
      readListedChanges(folder, () => {
        isUnread = true
      }),
    async record(event, actor, fields) {
      if (add(auditLine(timestamp(), event, actor, fields))) await write()
    },
    list(store: string, change: Change, revision: number, before: Configuration | undefined, after?: number) {
      const { authorship } = change
      if (authorship === undefined) return
      const { actor, time } = authorship
      const changes = countTogether(authorship)
      if (changes !== undefined) {
        const tag = listTag(store, after === undefined ? revision + changes - 1 : revision)
        const [event, fields] = wholeOf(authorship)
        unlisted = changes > IMPORT_AUDITED_RECORDS_MAX ? changes : 0
        const gap = unlisted > 0 && after !== undefined ? { follows: after } : {}
        addChange(() => auditLine(time, event, actor, { tag, ...gap, ...fields }))
      }
      if (unlisted > 0) unlisted -= 1
      else addChange(() => changeLine(change, authorship, placeOf(store, revision, after), before))
    },
    sync,
    async begin(tag, fields) {
      // The second sync makes a new file if the first one fails.
      const isSynced = (await hasSucceeded(sync())) || (await hasSucceeded(sync()))
      const isComplete = isSynced && !isUnread
      const line = auditLine(timestamp(), 'started', undefined, { ...fields, ...(isComplete ? { tag } : {}) })
      return add(() => line) && (await hasSucceeded(sync())) && isComplete
    },
    async written() {
      await (waiting.length > 0 ? write() : current)
      if (obstacle !== undefined) throw obstacle
    },
    async close() {
      await settle()
      isClosed = true
      clearTimeout(timer)
      if (lost > 0 || waiting.length > 0) await writeWaiting()
      await file.close()
    },
  }
}

function placeOf(store: string, revision: number, after: number | undefined): ChangePlace {
  const tag = listTag(store, revision)
  return after === undefined || after === revision - 1 ? { tag } : { after, tag }
}

function hasSucceeded(promise: Promise<void>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  )
}

/** What is listed of changes that were made together. */
function wholeOf({ import: note, many }: Notes): [event: AuditEvent, fields: AuditFields] {
  if (many === undefined) return ['configurations_imported', { ...note }]
  // What a caller can make long comes last.
  const { query, ...fields } = many
  return ['removed' in many ? 'configurations_removed' : 'configurations_changed', { ...fields, query }]
}

/** Lists an import, or another change of many, that changed nothing; the trail hears of others when they are durable. */
export async function recordIfUnchanged(audit: AuditTrail, actor: Actor, notes: Notes): Promise<void> {
  const [event, fields] = wholeOf(notes)
  if (countTogether(notes) === 0) await audit.record(event, actor, fields)
}
