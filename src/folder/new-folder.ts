import { dirname, resolve } from 'node:path'
import { noAccounts } from '../auth/accounts.ts'
import { accountsDocument } from '../auth/accounts-file.ts'
import { withCredentialsLock } from '../auth/credentials-lock.ts'
import { keysDocument } from '../auth/keys.ts'
import { ifReachable } from '../errors.ts'
import { type DataFolder, holdsNothing, openDataFolder } from '../files/data-folder.ts'
import { realFileSystem } from '../files/file-system.ts'
import { createLog } from '../log.ts'
import { openConfigurationStore } from '../storage/file/file-storage.ts'

/**
 * Whether a command can make a data folder at a path: an empty folder is there, or none and the folder above exists, so
 * that a mistyped path makes no chain of folders.
 */
export async function isNewFolder(path: string): Promise<boolean> {
  const files = realFileSystem
  const full = resolve(path)
  const found = await ifReachable(files.stat(full))
  if (found === undefined) return (await ifReachable(files.stat(dirname(full))))?.isDirectory() ?? false
  return found.isDirectory() && holdsNothing(await files.readdir(full))
}

/**
 * Makes a data folder without accounts and keys, which the first start of a server adds.
 *
 * @param path For which `isNewFolder` is true.
 * @returns The folder, owned by this process.
 * @throws as `openDataFolder` does.
 */
export async function prepareFolder(
  path: string,
  { screen }: { readonly screen: { write(text: string): unknown } },
): Promise<DataFolder> {
  const folder = await openDataFolder(path, realFileSystem, { isForOwnerOfParent: true })
  try {
    // Another process may have filled it meanwhile.
    if (!holdsNothing(await folder.files.readdir(path))) return folder
    const log = { ...createLog('text', (line) => screen.write(line)), info: () => {} }
    await (await openConfigurationStore(folder, { mustExist: false, log })).close()
    // The accounts last, as a first start does: a folder that has them has everything else.
    await withCredentialsLock(folder, async () => {
      await keysDocument(folder).write([])
      await accountsDocument(folder).write({ ...noAccounts, isPrepared: true })
    })
    screen.write(
      `connbook: Made the data folder "${path}"; the first start of the server adds what is missing\n`,
    )
    return folder
  } catch (error) {
    folder.release()
    throw error
  }
}
