import { resolve } from 'node:path'
import type { CommandContext, CommandInput } from '../command-line/command.ts'
import type { Options } from '../command-line/options.ts'
import { ifReachable, systemCode, UsageError } from '../errors.ts'
import { type DataPaths, dataPaths, ownerSocketPath } from '../files/data-folder.ts'
import { isDenial } from '../files/refusal.ts'
import { wordForShell } from '../shell.ts'
import { hasData } from '../state/used-folder.ts'
import { isRoot, ROOT } from '../system-account.ts'
import { describeOwner } from '../text.ts'

/** The folder of a service that systemd starts. */
const SERVICE_FOLDER = '/var/lib/connbook'

/** Whether a flag or variable names the folder; otherwise it is `./data`. */
export function isFolderNamed(
  { given }: Pick<CommandInput, 'given'>,
  environment: NodeJS.ProcessEnv,
): boolean {
  return given.has('--data') || Boolean(environment.CONNBOOK_DATA)
}

/**
 * The book that is meant when nobody names one: `./data`, or for root that of the service; undefined without either.
 *
 * @param data The path that stands for `./data`.
 * @throws as `checkOwnFolder` does.
 */
export async function findUnnamedFolder(data: string): Promise<DataPaths | undefined> {
  const own = dataPaths(resolve(data))
  if (await mayBeBook(own)) {
    await checkOwner(own, data)
    return own
  }
  if (!isRoot()) return undefined
  const ofService = dataPaths(SERVICE_FOLDER)
  return (await mayBeBook(ofService)) ? ofService : undefined
}

/**
 * Checks that a command may work on its folder. A `./data` that nobody named may be one that somebody else has put where
 * the command happens to run.
 *
 * @throws {UsageError} if it was not named, holds something of connbook, and belongs to another account.
 */
export async function checkOwnFolder(
  input: Pick<CommandInput, 'given'> & { readonly options: Pick<Options, 'data'> },
  { environment }: Pick<CommandContext, 'environment'>,
): Promise<void> {
  if (isFolderNamed(input, environment)) return
  const { data } = input.options
  const own = dataPaths(resolve(data))
  if (await mayBeBook(own)) await checkOwner(own, data)
}

/** @param data As it was given. */
async function checkOwner({ path, files }: DataPaths, data: string): Promise<void> {
  const uid = process.getuid?.()
  const found = await ifReachable(files.stat(path))
  if (uid === undefined || found === undefined || found.uid === uid) return
  const remedy =
    uid === ROOT
      ? `if it is the one that you mean, name it: --data ${wordForShell(data)}`
      : 'name a folder of your own with --data FOLDER'
  throw new UsageError(
    `Cannot use "${data}" unnamed: it belongs to another account (${describeOwner(found)}); ${remedy}`,
  )
}

/** True also for a folder that only its owner may look into, and for one in which a server has just started. */
async function mayBeBook(folder: DataPaths): Promise<boolean> {
  try {
    if (await hasData(folder)) return true
    return (await ifReachable(folder.files.lstat(ownerSocketPath(folder.path)))) !== undefined
  } catch (error) {
    if (isDenial(systemCode(error) ?? '')) return true
    throw error
  }
}
