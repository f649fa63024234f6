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

/** Where a command tells what goes wrong. */
interface Teller {
  readonly screen: { write(text: string): unknown }
}

/**
 * Adds to the audit trail of a folder what a command has done. Never rejects, because it is done: what keeps the line out
 * is said on standard error.
 *
 * @param command What was typed, without names: "user add".
 */
export function recordCommand(
  context: Teller,
  folder: DataPaths,
  event: AuditEvent,
  command: string,
  fields: AuditFields = {},
): Promise<void> {
  return withCommandTrail(context, folder, command, (trail, actor) => trail.record(event, actor, fields))
}

/** The same for more than one line. */
export async function withCommandTrail(
  { screen }: Teller,
  folder: DataPaths,
  command: string,
  record: (trail: AuditTrail, actor: CommandActor) => Promise<void>,
): Promise<void> {
  const log = createLog('text', (line) => screen.write(line))
  try {
    // To move the files on is left to the server: two that do so would lose one.
    const trail = await openAuditTrail(folder, log, Number.POSITIVE_INFINITY)
    await record(trail, { command, by: accountName() })
    await trail.close()
  } catch (error) {
    log.error('audit_not_written', { reason: String(error) })
  }
}

/** Under which account of the machine this runs; in a container it may have no name. */
function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
