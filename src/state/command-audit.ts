import type { AuditEvent, AuditFields } from '../audit/audit-line.ts'
import { type AuditTrail, openAuditTrail } from '../audit/audit-trail.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { createLog } from '../log.ts'
import type { CommandActor } from '../store/authorship.ts'
import { sudoUserOf, systemAccount } from '../system-account.ts'

/** Shows a failure. */
interface Terminal {
  readonly screen: { write(text: string): unknown }
}

/** What a command was started with. */
interface Started extends Terminal {
  readonly environment: NodeJS.ProcessEnv
}

/**
 * Adds what a command has done to the audit trail of a folder. Never rejects, as it is done: a failure is only shown.
 *
 * @param command As typed, without names: "user add".
 */
export async function recordCommand(
  { screen, environment }: Started,
  folder: DataPaths,
  event: AuditEvent,
  command: string,
  fields: AuditFields = {},
): Promise<void> {
  try {
    const trail = await openCommandTrail({ screen }, folder)
    await trail.record(event, commandActor(command, environment), fields)
    await trail.close()
  } catch (error) {
    createLog('text', (line) => screen.write(line)).error('audit_not_written', { reason: String(error) })
  }
}

/** The trail of a folder, for a command. @throws what `openAuditTrail` throws. */
export function openCommandTrail({ screen }: Terminal, folder: DataPaths): Promise<AuditTrail> {
  const log = createLog('text', (line) => screen.write(line))
  // Only the server rotates the files: two processes that do so would lose one.
  return openAuditTrail(folder, log, Number.POSITIVE_INFINITY)
}

/**
 * @param command As typed, without names: "user add".
 * @param environment Its SUDO_USER counts.
 */
export function commandActor(command: string, environment: NodeJS.ProcessEnv): CommandActor {
  const claimed = sudoUserOf(environment.SUDO_USER)
  return { command, by: systemAccount(), ...(claimed === undefined ? {} : { via: { claimed } }) }
}
