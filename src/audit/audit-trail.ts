import { FolderRefusedError, systemCode } from '../errors.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import type { Caller } from '../http/message.ts'
import { printable } from '../json.ts'
import { AUDIT_FILE_BYTES_MAX, AUDIT_WAITING_LINES_MAX } from '../limits.ts'
import type { Log } from '../log.ts'
import { timestamp } from '../timestamp.ts'
import { AuditFile } from './audit-file.ts'

export type AuditEvent =
  | 'first_started'
  | 'started'
  | 'stopped'
  | 'logged_in'
  | 'login_failed'
  | 'login_throttled'
  | 'logged_out'
  | 'token_issued'
  | 'token_refused'
  | 'token_throttled'
  | 'token_scope_refused'
  | 'login_not_checked'
  | 'token_not_checked'
  | 'attempts_not_listed'
  | 'configuration_added'
  | 'configuration_modified'
  | 'configuration_deleted'
  | 'configurations_imported'
  | 'user_added'
  | 'user_password_changed'
  | 'user_removed'
  | 'client_added'
  | 'client_rotated'
  | 'client_removed'
  | 'keys_rotated'
  | 'keys_revoked'
  | 'restored'
  | 'recovered'

/** The sender of a request, or whoever ran a command. */
export type Actor = Pick<Caller, 'address' | 'requestId' | 'principal'> | Command

export interface Command {
  /** Its words, without names. */
  readonly command: string
  /** The system account that ran it. */
  readonly by: string
}

/** Values of an event; never a secret, a token, a cookie or a password. */
export type AuditFields = Readonly<Record<string, unknown>>

/** Who did what and when: one JSON line per event in `audit.jsonl`. */
export interface AuditTrail {
  /**
   * Adds a line. Resolves once the operating system has it, so it survives a crash of the process, but a power loss may
   * take the last half minute. Never rejects: lines that cannot be written are counted, and the count is written later.
   *
   * @param actor undefined for what the server does by itself.
   * @param record The record concerned.
   */
  record(
    event: AuditEvent,
    actor: Actor | undefined,
    fields?: AuditFields,
    record?: { readonly json: string },
  ): Promise<void>
  /** Writes the waiting lines and closes the file. */
  close(): Promise<void>
}

/**
 * Opens the trail of a folder.
 *
 * @throws {FolderRefusedError} if the file is not a plain one. Also the system's error if this account may not write it;
 *   on a full or failing disk, lines are counted as lost until it works again.
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
  let waiting: string[] = []
  let lost = 0
  let isClosed = false
  let current: Promise<void> = Promise.resolve()
  /** The write that follows `current` and takes the waiting lines. */
  let next: Promise<void> | undefined

  async function writeWaiting() {
    const lines = waiting
    waiting = []
    next = undefined
    const count = lost
    const gap = count === 0 ? '' : formatLine('lines_lost', undefined, { count })
    try {
      await file.append(gap + lines.join(''))
      lost -= count
    } catch (error) {
      lose(lines.length, String(error))
    }
  }

  function lose(count: number, reason: string) {
    if (lost === 0) log.error('audit_not_written', { file: folder.file(auditFiles[0]), reason })
    lost += count
  }

  return {
    record(event, actor, fields, record) {
      // A request that was cut off may end after another process has taken the folder.
      if (isClosed) return Promise.resolve()
      if (waiting.length >= AUDIT_WAITING_LINES_MAX) {
        lose(1, 'too many lines are waiting')
        return Promise.resolve()
      }
      waiting.push(formatLine(event, actor, fields, record))
      if (next === undefined) {
        next = current.then(writeWaiting)
        current = next
      }
      return next
    },
    async close() {
      // More lines may come while it waits.
      for (let seen: Promise<void> | undefined; seen !== current; ) {
        seen = current
        await seen
      }
      isClosed = true
      if (lost > 0) await writeWaiting()
      await file.close()
    },
  }
}

/** What an attacker can choose comes last, and is escaped. */
function formatLine(
  event: AuditEvent | 'lines_lost',
  actor: Actor | undefined,
  fields?: AuditFields,
  record?: { readonly json: string },
): string {
  const line = JSON.stringify(Object.assign(startLine(event, actor), fields))
  return `${printable(record === undefined ? line : `${line.slice(0, -1)},"record":${record.json}}`)}\n`
}

function startLine(event: AuditEvent | 'lines_lost', actor: Actor | undefined): AuditFields {
  const time = timestamp()
  if (actor === undefined || 'command' in actor) return { time, event, ...actor }
  const { address, principal, requestId } = actor
  return { time, event, address, kind: principal?.kind, by: principal?.name, request_id: requestId }
}
