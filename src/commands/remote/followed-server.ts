import { lstat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Client } from '../../client/client.ts'
import type { CommandContext } from '../../command-line/command.ts'
import { ifReachable } from '../../errors.ts'
import { ownerSocketPath } from '../../files/data-folder.ts'
import { connectBeside, connectElsewhere } from './connect.ts'

/** A server that is called for as long as a command runs. */
export interface FollowedServer {
  /** Undefined if it is called by a URL. */
  readonly folder: string | undefined
  /** Who calls it now. @throws {UnreachableError} while the folder has no usable socket. */
  connect(): Promise<Client>
}

/**
 * The server that flags, variables and kept logins name, or else that of the folder, by its owner's socket.
 *
 * @throws as `connectElsewhere` does.
 */
export async function findFollowedServer(
  input: Parameters<typeof connectBeside>[0],
  context: Pick<CommandContext, 'environment'>,
  command: string,
): Promise<FollowedServer> {
  const elsewhere = await connectElsewhere(input, context, command)
  if (elsewhere !== undefined) return { folder: undefined, connect: async () => elsewhere }
  const folder = resolve(input.options.data)
  let known: { readonly seen: string; readonly client: Promise<Client> } | undefined
  return {
    folder,
    async connect() {
      // To look for a socket may take an open file for good, so it is done again only for another one.
      const seen = await identityOf(folder)
      if (known?.seen !== seen) known = { seen, client: connectBeside(input, context, command) }
      return known.client
    },
  }
}

/** Differs for another folder or another socket. */
async function identityOf(folder: string): Promise<string> {
  const paths = [folder, ownerSocketPath(folder)]
  const found = await Promise.all(paths.map((path) => ifReachable(lstat(path))))
  return found.map((each) => each && `${each.dev}:${each.ino}:${each.mode}:${each.uid}`).join(' ')
}
