import { lchown, readdir } from 'node:fs/promises'
import { join } from 'node:path'

const isRoot = process.getuid?.() === 0
const ID = 65534

/** For `through`: runs under an account to which file modes apply, unlike root. */
export const asPlainAccount = isRoot
  ? ['setpriv', `--reuid=${ID}`, `--regid=${ID}`, '--clear-groups']
  : ([] as const)

/** Number of that account. */
export const plainAccount = isRoot ? ID : process.getuid?.()

/** Gives a folder and what is in it to that account. */
export async function giveToPlainAccount(folder: string): Promise<void> {
  if (!isRoot) return
  for (const name of ['.', ...(await readdir(folder))]) await lchown(join(folder, name), ID, ID)
}
