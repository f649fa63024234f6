import { ifPresent } from '../errors.ts'
import { removeIfPresent, writeAtomicFile } from '../files/atomic-file.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
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
  folder: DataPaths,
  credentials: InitialCredentials,
): Promise<void> {
  const path = folder.file(dataFiles.initialCredentials)
  if (Object.keys(credentials).length === 0) await removeIfPresent(path, folder.files)
  else await writeAtomicFile(path, `${JSON.stringify(credentials, null, 2)}\n`, folder.files)
}

/** The credentials that are still in the file; undefined when it is absent or cannot be read as such. */
export async function findInitialCredentials(folder: DataPaths): Promise<InitialCredentials | undefined> {
  const bytes = await ifPresent(folder.files.readFile(folder.file(dataFiles.initialCredentials)), [
    'ENOENT',
    'EIO',
  ])
  const found = bytes && parseJson(bytes.toString('utf8'))
  return isObject(found) ? found : undefined
}

/** Removes an account's credential, which has just been changed, from the file. */
export async function forgetInitialCredentials(
  folder: DataPaths,
  kind: AccountKind,
  name: string,
): Promise<void> {
  const found = await findInitialCredentials(folder)
  if (found === undefined) return
  const [id, secret] =
    kind === 'user' ? (['username', 'password'] as const) : (['client_id', 'client_secret'] as const)
  if (found[id] !== name) return
  const entries = Object.entries(found).filter(([member]) => member !== id && member !== secret)
  await writeInitialCredentials(folder, Object.fromEntries(entries))
}
