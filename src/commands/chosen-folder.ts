import { resolve } from 'node:path'
import { clientVariables } from '../client/endpoint.ts'
import { loginsOf } from '../client/logins.ts'
import type { CommandContext, CommandInput } from '../command-line/command.ts'
import type { Options } from '../command-line/options.ts'
import { FolderRefusedError, ifReachable, systemCode, UsageError } from '../errors.ts'
import { dataPaths } from '../files/data-folder.ts'
import { realFileSystem } from '../files/file-system.ts'
import { isDenial } from '../files/refusal.ts'
import { wordForShell } from '../shell.ts'
import { hasData } from '../state/used-folder.ts'
import { ROOT } from '../system-account.ts'
import { describeOwner, hidePassword } from '../text.ts'

/** What says which folder a command works on. */
export interface FolderInput {
  readonly options: Pick<Options, 'data'> & Partial<Pick<Options, 'etcd'>>
  readonly given: CommandInput['given']
}

/** The folder of a service that systemd starts. */
const SERVICE_FOLDER = '/var/lib/connbook'

type Started = Pick<CommandContext, 'environment'>

/** Whether a flag or variable names the folder; otherwise it is `./data`. */
export function isFolderNamed(
  { given }: Pick<FolderInput, 'given'>,
  environment: NodeJS.ProcessEnv,
): boolean {
  return given.has('--data') || Boolean(environment.CONNBOOK_DATA)
}

/**
 * Checks that a command may work on its folder. A `./data` that nobody named may be one that somebody else has put where
 * the command happens to run.
 *
 * @throws {UsageError} if it was not named, holds something of connbook, and belongs to another account.
 */
export async function checkOwnFolder(input: FolderInput, { environment }: Started): Promise<void> {
  const uid = process.geteuid?.()
  if (uid === undefined || isFolderNamed(input, environment)) return
  const { data } = input.options
  const found = await ifReachable(realFileSystem.stat(data))
  if (found === undefined || found.uid === uid || !(await mayHaveData(resolve(data)))) return
  const remedy =
    uid === ROOT
      ? `if it is the one that you mean, name it: --data ${wordForShell(data)}`
      : 'name a folder of your own with --data FOLDER'
  throw new UsageError(
    `Cannot use "${data}" unnamed: it belongs to another account (${describeOwner(found)}); ${remedy}`,
  )
}

/** True also for a folder that only its owner may look into. */
async function mayHaveData(path: string): Promise<boolean> {
  try {
    return await hasData(dataPaths(path))
  } catch (error) {
    if (isDenial(systemCode(error) ?? '')) return true
    throw error
  }
}

/**
 * Checks the same for a command that works on the folder of a book, or makes one: a `./data` that was not named must be a
 * book already. Whoever names none may mean a server, or the folder of a service.
 *
 * @param takesServer Whether the command also takes `--server`.
 * @throws {FolderRefusedError} if there is no book in a `./data` that was not named.
 * @throws as `checkOwnFolder` does.
 */
export async function checkChosenFolder(
  input: FolderInput,
  context: Started,
  takesServer: boolean,
): Promise<void> {
  const { environment } = context
  if (isFolderNamed(input, environment)) return
  await checkOwnFolder(input, context)
  const { data, etcd } = input.options
  if (etcd !== undefined || (await hasData(dataPaths(resolve(data))))) return
  const ways = ['a data folder with --data FOLDER', ...(takesServer ? ['a server with --server URL'] : [])]
  const known = await describeKnown(environment)
  throw new FolderRefusedError(
    `Cannot find anything of connbook in "${data}", and no other place is named; name ${ways.join(', or ')}${known.map((each) => `; ${each}`).join('')}`,
  )
}

/** Where the books are that may be meant. What cannot be read is left out: it is only advice. */
async function describeKnown(environment: NodeJS.ProcessEnv): Promise<string[]> {
  const server = environment[clientVariables.server]
  const logins = await loginsOf(environment)
    .list()
    .catch(() => [])
  const hasService = await hasData(dataPaths(SERVICE_FOLDER)).catch(() => false)
  return [
    ...(server ? [`${clientVariables.server} is ${hidePassword(server)}`] : []),
    ...(logins.length > 0 ? [`you are logged in at ${logins.map((login) => login.server).join(', ')}`] : []),
    ...(hasService ? [`a service has its book in ${SERVICE_FOLDER}`] : []),
  ]
}
