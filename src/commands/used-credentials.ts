import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { accountsDocument } from '../auth/accounts-file.ts'
import type { CredentialStorage } from '../auth/credential-storage.ts'
import { waitForCommands } from '../auth/credentials-lock.ts'
import { folderCredentials } from '../auth/folder-credentials.ts'
import type { CommandContext } from '../command-line/command.ts'
import type { Options, PlaceFlag } from '../command-line/options.ts'
import { FolderInUseError } from '../errors.ts'
import { type DataPaths, dataPaths } from '../files/data-folder.ts'
import { LOCK_PAUSE_MS, LOCK_WAIT_MS } from '../limits.ts'
import { isNewFolder, prepareFolder } from '../state/new-folder.ts'
import { getNodeFolder } from '../state/node-folder.ts'
import { getUsedFolder } from '../state/used-folder.ts'
import type { FolderInput } from './chosen-folder.ts'
import { waitForServer } from './server-catch-up.ts'
import { type UsedCluster, usedCluster } from './used-cluster.ts'

/** What says where accounts and keys are kept. */
export interface CredentialInput extends FolderInput {
  readonly options: Pick<Options, PlaceFlag>
}

/** The accounts and keys that a command works on. */
export interface UsedCredentials extends CredentialStorage, Disposable {
  /** Its audit trail names what the command did. */
  readonly folder: DataPaths
  /** Has servers that run know of a change; see `waitForServer`. The nodes of a cluster follow what is stored there. */
  readonly settle: (command: string, context: Pick<CommandContext, 'environment' | 'screen'>) => Promise<void>
}

/** A command may add the first account before the first start. */
export interface CredentialsToAddTo extends UsedCredentials {
  /** Makes the place for the accounts; undefined if it is there. Throws {FolderInUseError} {FolderRefusedError}. */
  readonly prepare: ((context: Pick<CommandContext, 'screen'>) => Promise<void>) | undefined
}

/**
 * @throws {FolderRefusedError} {DamagedFileError} as `getUsedFolder` does.
 * @throws {UsageError} {EtcdError} {ClusterRefusedError} if the options name a cluster that cannot be used.
 */
export async function getUsedCredentials({ options }: CredentialInput): Promise<UsedCredentials> {
  const cluster = usedCluster(options)
  return cluster === undefined
    ? inFolder(await getIdleFolder(options.data))
    : inCluster(cluster, () => getNodeFolder(options.data))
}

/** The same for a command that only reads them, which no audit trail lists. @throws as `getUsedCredentials` does. */
export async function getReadCredentials({
  options,
}: CredentialInput): Promise<CredentialStorage & Disposable> {
  const cluster = usedCluster(options)
  return cluster === undefined
    ? inFolder(await getIdleFolder(options.data))
    : inCluster(cluster, async () => undefined)
}

/** @throws as `getUsedCredentials` does, for a folder that cannot be made either. */
export async function getCredentialsToAddTo(input: CredentialInput): Promise<CredentialsToAddTo> {
  const { options } = input
  const isNew = options.etcd === undefined && (await isNewFolder(options.data))
  if (!isNew) return { ...(await getUsedCredentials(input)), prepare: undefined }
  const folder = dataPaths(resolve(options.data))
  return { ...inFolder(folder), prepare: (context) => prepareUnlessUsed(folder, context) }
}

/** A folder that no command has to itself. @throws {DocumentBusyError} Also throws as `getUsedFolder` does. */
async function getIdleFolder(path: string): Promise<DataPaths> {
  const folder = await getUsedFolder(path)
  await waitForCommands(folder)
  return folder
}

function inFolder(folder: DataPaths): UsedCredentials {
  return {
    ...folderCredentials(folder),
    folder,
    settle: (command, context) => waitForServer(folder, command, context),
    [Symbol.dispose]() {},
  }
}

async function inCluster<Folder extends DataPaths | undefined>(
  cluster: UsedCluster,
  getFolder: () => Promise<Folder>,
): Promise<CredentialStorage & Disposable & { readonly folder: Folder; settle(): Promise<void> }> {
  try {
    const folder = await getFolder()
    const credentials = await cluster.openCredentials(folder)
    return {
      ...credentials,
      folder,
      settle: async () => {},
      [Symbol.dispose]: () => cluster[Symbol.dispose](),
    }
  } catch (error) {
    cluster[Symbol.dispose]()
    throw error
  }
}

/**
 * Makes the folder. If another process is making it, waits until that has made its accounts.
 *
 * @throws {FolderInUseError} if it has not made them within LOCK_WAIT_MS.
 */
async function prepareUnlessUsed(folder: DataPaths, context: Pick<CommandContext, 'screen'>): Promise<void> {
  const end = performance.now() + LOCK_WAIT_MS
  for (;;) {
    try {
      return (await prepareFolder(folder.path, context)).release()
    } catch (error) {
      if (!(error instanceof FolderInUseError)) throw error
      if ((await accountsDocument(folder).read()) !== undefined) return
      if (performance.now() >= end) throw error
    }
    await setTimeout(LOCK_PAUSE_MS)
  }
}
