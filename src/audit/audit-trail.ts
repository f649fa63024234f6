import { hash } from 'node:crypto'
import { FolderRefusedError, systemCode } from '../errors.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { decodePercent } from '../http/url.ts'
import { AUDITED_QUERY_CHARACTERS_MAX, IMPORT_AUDITED_RECORDS_MAX } from '../limits.ts'
import type { Log } from '../log.ts'
import type { ChangeTrail, Listed } from '../storage/change-trail.ts'
import { type Actor, countTogether, type Notes } from '../store/authorship.ts'
import type { Change } from '../store/change.ts'
import type { Configuration } from '../store/configuration.ts'
import { listTag } from '../store/list-tag.ts'
import { timestamp } from '../timestamp.ts'
import { AuditFile } from './audit-file.ts'
import { type AuditEvent, type AuditFields, auditLine, type ChangePlace, changeLine } from './audit-line.ts'
import { readListedChanges } from './listed-changes.ts'
import { TrailWriter } from './trail-writer.ts'

/** Without `--audit-keep`: beyond it a new file of the audit trail begins, and the oldest of five is deleted. */
export const AUDIT_FILE_BYTES_MAX = 16 * 1024 * 1024

/** Who did what and when: one JSON line per event in `audit.jsonl`. */
export class AuditTrail implements ChangeTrail {
  readonly #folder: DataPaths
  readonly #writer: TrailWriter
  readonly #log: Log
  /** Whether the disk could not read what is listed already: then nothing says that it is complete. */
  #isUnread = false
  /** Changes of a large import that are still to come. */
  #unlisted = 0

  constructor(folder: DataPaths, writer: TrailWriter, log: Log) {
    this.#folder = folder
    this.#writer = writer
    this.#log = log
  }

  listed(): Promise<Listed> {
    return readListedChanges(this.#folder, {
      onUnreadable: () => {
        this.#isUnread = true
      },
      onDamaged: ({ file, line, count }) =>
        this.#log.warn('audit_damaged', { file: this.#folder.file(file), line, count }),
    })
  }

  /**
   * Adds a line. Resolves once the operating system has it, so it survives a crash of the process, but a power loss may
   * take the last half minute. Never rejects: lines that cannot be written are counted, and the count is written later.
   *
   * @param actor undefined for what the server does by itself.
   */
  async record(event: AuditEvent, actor: Actor | undefined, fields?: AuditFields): Promise<void> {
    if (this.#writer.add(auditLine(timestamp(), event, actor, fields))) await this.#writer.write()
  }

  list(
    store: string,
    change: Change,
    revision: number,
    before: Configuration | undefined,
    after?: number,
  ): void {
    const { authorship } = change
    if (authorship === undefined) return
    const { actor, time } = authorship
    const changes = countTogether(authorship)
    if (changes !== undefined) {
      const tag = listTag(store, after === undefined ? revision + changes - 1 : revision)
      const [event, fields] = wholeOf(authorship)
      this.#unlisted = changes > IMPORT_AUDITED_RECORDS_MAX ? changes : 0
      const gap = this.#unlisted > 0 && after !== undefined ? { follows: after } : {}
      this.#writer.addChange(() => auditLine(time, event, actor, { tag, ...gap, ...fields }))
    }
    if (this.#unlisted > 0) this.#unlisted -= 1
    else this.#writer.addChange(() => changeLine(change, authorship, placeOf(store, revision, after), before))
  }

  sync(): Promise<void> {
    return this.#writer.sync()
  }

  /**
   * Lists the start of a server. With its tag, the line says that no later start adds lines for changes up to there; it
   * completes those after it. Never rejects.
   *
   * @param tag The tag of all records, as they are at the start.
   * @returns Whether the line is durable, with its tag.
   */
  async begin(tag: string, fields: AuditFields): Promise<boolean> {
    // The second sync makes a new file if the first one fails.
    const isSynced = (await hasSucceeded(this.sync())) || (await hasSucceeded(this.sync()))
    const isComplete = isSynced && !this.#isUnread
    const line = auditLine(timestamp(), 'started', undefined, { ...fields, ...(isComplete ? { tag } : {}) })
    return this.#writer.add(() => line) && (await hasSucceeded(this.sync())) && isComplete
  }

  /** Resolves once the operating system has the lines of all changes given to `list`. @throws {Error} if it takes none. */
  written(): Promise<void> {
    return this.#writer.written()
  }

  /** Writes the waiting lines and closes the file. */
  close(): Promise<void> {
    return this.#writer.close()
  }
}

/**
 * Opens the trail of a folder.
 *
 * @param bytesMax The size of one file.
 * @param isReadOnly Whether nothing is to be written; then `record` must not be called.
 * @throws {FolderRefusedError} if the file is not a plain one. Also the system's error if this account may not write it;
 *   on a full or failing disk, lines wait or are counted as lost until it works again.
 */
export async function openAuditTrail(
  folder: DataPaths,
  log: Log,
  bytesMax = AUDIT_FILE_BYTES_MAX,
  isReadOnly = false,
): Promise<AuditTrail> {
  const file = new AuditFile(folder, bytesMax, log)
  if (isReadOnly) return new AuditTrail(folder, new TrailWriter(file, log), log)
  await file.open().catch((error: unknown) => {
    if (error instanceof FolderRefusedError) throw error
    if (['EACCES', 'EPERM', 'EROFS', 'EISDIR', 'ELOOP'].includes(systemCode(error) ?? '')) throw error
  })
  return new AuditTrail(folder, new TrailWriter(file, log), log)
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
  const event = 'removed' in many ? 'configurations_removed' : 'configurations_changed'
  return [event, { ...fields, ...shownQuery(query) }]
}

/** A long query is cut, between two characters of what it encodes, and known by its hash. */
function shownQuery(query: string): { readonly query_sha256?: string; readonly query: string } {
  if (query.length <= AUDITED_QUERY_CHARACTERS_MAX) return { query }
  let end = AUDITED_QUERY_CHARACTERS_MAX
  while (decodePercent(query.slice(0, end)) === undefined) end -= 1
  return { query_sha256: hash('sha256', query), query: query.slice(0, end) }
}

/**
 * Lists an import, or another change of many, that changed nothing; the trail hears of others when they are durable.
 *
 * @param isListed Asked only about one that changed nothing.
 */
export async function recordIfUnchanged(
  audit: Pick<AuditTrail, 'record'>,
  actor: Actor,
  notes: Notes,
  isListed = () => true,
): Promise<void> {
  if (countTogether(notes) !== 0 || !isListed()) return
  const [event, fields] = wholeOf(notes)
  // Nothing became so: what somebody wanted is not worth a long line.
  const isLong = JSON.stringify(fields.changed ?? {}).length > AUDITED_QUERY_CHARACTERS_MAX
  await audit.record(event, actor, isLong ? { ...fields, changed: undefined } : fields)
}
