import { FolderRefusedError, systemCode } from '../errors.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import type { Caller } from '../http/message.ts'
import { printable } from '../json.ts'
import { AUDIT_FILE_BYTES_MAX, AUDIT_WAITING_LINES_MAX } from '../limits.ts'
import type { Log } from '../log.ts'
import { timestamp } from '../timestamp.ts'
import { AuditFile } from './audit-file.ts'

/** What is worth knowing years later. */
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

/** Who did it: whoever sent a request, or the account of the machine that ran a command. */
export type Actor = Pick<Caller, 'address' | 'requestId' | 'principal'> | Command

export interface Command {
  /** What was typed, without names. */
  readonly command: string
  /** The account of the machine. */
  readonly by: string
}

/** Values of an event; never a secret, a token, a cookie or a password. */
export type AuditFields = Readonly<Record<string, unknown>>

/** Who did what and when, one JSON line an event, in `audit.jsonl`. */
export interface AuditTrail {
  /**
   * Adds a line. Resolves when the operating system has it, so that it outlives the process; a power loss may still take
   * the last half minute. Never rejects: a line that cannot be written is counted, and the count written later.
   *
   * @param actor undefined for what the server does by itself.
   * @param record The record that it was done to.
   */
  record(
    event: AuditEvent,
    actor: Actor | undefined,
    fields?: AuditFields,
    record?: { readonly json: string },
  ): Promise<void>
  /** Writes what is waiting and closes the file. */
  close(): Promise<void>
}

/**
 * Opens the trail of a folder.
 *
 * @throws {FolderRefusedError} if its file is no plain one. Also the system's error if this account may not write it; a full or failing disk is waited out.
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
  /** The write that takes what is waiting, once the one before it has ended. */
  let next: Promise<void> | undefined

  async function writeWaiting() {
    const lines = waiting
    waiting = []
    next = undefined
    const told = lost
    const gap = told === 0 ? '' : formatLine('lines_lost', undefined, { count: told })
    try {
      await file.append(gap + lines.join(''))
      lost -= told
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
      // A request that was cut off may come to its end when the folder is somebody else's already.
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
      // What is on its way may bring more.
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

/** What an attacker can choose stands behind everything else, and is escaped. */
function formatLine(
  event: AuditEvent | 'lines_lost',
  actor: Actor | undefined,
  fields?: AuditFields,
  record?: { readonly json: string },
): string {
  const line = JSON.stringify(Object.assign(startLine(timestamp(), event, actor), fields))
  return `${printable(record === undefined ? line : `${line.slice(0, -1)},"record":${record.json}}`)}\n`
}

function startLine(time: string, event: AuditEvent | 'lines_lost', actor: Actor | undefined): AuditFields {
  if (actor === undefined) return { time, event }
  if ('command' in actor) return { time, event, ...actor }
  const { address, principal, requestId } = actor
  return { time, event, address, kind: principal?.kind, by: principal?.name, request_id: requestId }
}
