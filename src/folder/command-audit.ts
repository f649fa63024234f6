import { userInfo } from 'node:os'
import {
  type AuditEvent,
  type AuditFields,
  type AuditTrail,
  type Command as CommandActor,
  openAuditTrail,
} from '../audit/audit-trail.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { createLog } from '../log.ts'

/** Shows a failure. */
interface Terminal {
  readonly screen: { write(text: string): unknown }
}

/**
 * Adds what a command has done to the audit trail of a folder. Never rejects, as it is done: a failure is only shown.
 *
 * @param command As typed, without names: "user add".
 */
export function recordCommand(
  context: Terminal,
  folder: DataPaths,
  event: AuditEvent,
  command: string,
  fields: AuditFields = {},
): Promise<void> {
  return withCommandTrail(context, folder, command, (trail, actor) => trail.record(event, actor, fields))
}

/** The same for several lines. */
export async function withCommandTrail(
  { screen }: Terminal,
  folder: DataPaths,
  command: string,
  record: (trail: AuditTrail, actor: CommandActor) => Promise<void>,
): Promise<void> {
  const log = createLog('text', (line) => screen.write(line))
  try {
    // Only the server rotates the files: two processes that do so would lose one.
    const trail = await openAuditTrail(folder, log, Number.POSITIVE_INFINITY)
    await record(trail, { command, by: accountName() })
    await trail.close()
  } catch (error) {
    log.error('audit_not_written', { reason: String(error) })
  }
}

/** The account of this process; in a container it may have no name. */
function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
