import { UnreachableError } from '../client/call.ts'
import { Client } from '../client/client.ts'
import { ownerCredential } from '../client/credential.ts'
import { findOwnerSocket } from '../client/owner-socket.ts'
import type { CommandContext } from '../command-line/command.ts'
import { ConnbookError } from '../errors.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { commandActor } from '../state/command-audit.ts'

/** How long a command waits for the server of its folder to know of a change. */
export const SERVER_WAIT_MS = 5_000

/**
 * Waits until the server of a folder knows what a command has changed there of accounts and keys: on the owner's socket it
 * looks at them before it answers. Without that socket, it looks within a second, and before each login.
 *
 * Never rejects, as the change is made: a server that does not answer within SERVER_WAIT_MS is only named.
 *
 * @param command As typed, without names: "user add".
 */
export async function waitForServer(
  folder: DataPaths,
  command: string,
  { environment, screen }: Pick<CommandContext, 'environment' | 'screen'>,
): Promise<void> {
  const limit = AbortSignal.timeout(SERVER_WAIT_MS)
  try {
    const { endpoint } = await findOwnerSocket(folder.path, true)
    if (endpoint === undefined) return
    const server = new Client(endpoint, ownerCredential(commandActor(command, environment)), true)
    await server.ask({ method: 'GET', path: '/v1/whoami' }, limit)
  } catch (error) {
    // A server that was killed leaves its socket behind.
    if (error instanceof UnreachableError) return
    const reason = limit.aborted
      ? `no answer within ${SERVER_WAIT_MS / 1000} s`
      : error instanceof ConnbookError
        ? error.message
        : String(error)
    screen.write(
      `connbook: Warning: the change is made, but the server of "${folder.path}" has not said that it knows of it (${reason}); it looks for changes twice a second: until then, what has ended may still be good there\n`,
    )
  }
}
