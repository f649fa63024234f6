import { join } from 'node:path'
import { ifPresent } from '../errors.ts'
import { removeIfPresent, writeAtomicFile } from '../files/atomic-file.ts'
import { dataFiles } from '../files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { isObject, parseJson } from '../json.ts'
import type { AccountKind } from './accounts.ts'

/** The credentials that the first start generated, in plain text; those changed since are gone. */
export interface InitialCredentials {
  username?: string
  password?: string
  client_id?: string
  client_secret?: string
}

/** Writes the file, or removes it if no credential is left. */
export async function writeInitialCredentials(
  folder: string,
  credentials: InitialCredentials,
  files: FileSystem = realFileSystem,
): Promise<void> {
  const path = join(folder, dataFiles.initialCredentials)
  if (Object.keys(credentials).length === 0) await removeIfPresent(path, files)
  else await writeAtomicFile(path, `${JSON.stringify(credentials, null, 2)}\n`, files)
}

/** Removes an account's credential, which has just been changed, from the file. */
export async function forgetInitialCredentials(
  folder: string,
  kind: AccountKind,
  name: string,
  files: FileSystem = realFileSystem,
): Promise<void> {
  const bytes = await ifPresent(files.readFile(join(folder, dataFiles.initialCredentials)))
  const found = bytes && parseJson(bytes.toString('utf8'))
  if (!isObject(found)) return
  const [id, secret] = kind === 'user' ? ['username', 'password'] : ['client_id', 'client_secret']
  if (found[id] !== name) return
  const entries = Object.entries(found).filter(([member]) => member !== id && member !== secret)
  await writeInitialCredentials(folder, Object.fromEntries(entries), files)
}
