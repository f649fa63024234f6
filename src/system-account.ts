import { homedir, userInfo } from 'node:os'
import { resolve } from 'node:path'
import { FolderRefusedError, systemCode } from './errors.ts'
import { ACCOUNT_NAME_CHARACTERS_MAX } from './limits.ts'
import { checkText } from './text.ts'

export const ROOT = 0
/** By custom the number of a group that may do nothing. */
const NO_GROUP = 65_534

/** An account of the system that root acts for. */
export interface SystemAccount {
  readonly uid: number
  readonly gid: number
}

/** The account of this process; in a container it may have no name. */
export function systemAccount(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}

/** The home of this account; `/` for one that the system does not know, as containers set HOME for it. */
export function homeFolder(): string {
  try {
    return homedir()
  } catch {
    return resolve('/')
  }
}

/**
 * Who used `sudo`, as SUDO_USER has it.
 *
 * @returns Undefined for root, who need not say so, and for what cannot be the name of an account.
 */
export function sudoUserOf(text: string | undefined): string | undefined {
  if (text === undefined || text === 'root') return undefined
  return checkText(text, ACCOUNT_NAME_CHARACTERS_MAX) === undefined ? text : undefined
}

/** Whether this process has the rights of root. */
export function isRoot(): boolean {
  return process.geteuid?.() === ROOT
}

/**
 * The account that owns a folder, with its own group: that of the folder may have more rights than the owner has.
 *
 * @param folder Its group stands in for that of an account that the system does not know.
 * @throws {FolderRefusedError} if root may not act for this account.
 */
export function ownerOf(path: string, folder: SystemAccount): SystemAccount {
  const { uid } = folder
  const unknown = { uid, gid: folder.gid === ROOT ? NO_GROUP : folder.gid }
  const refuse = (cause: unknown) =>
    new FolderRefusedError(
      `Cannot use "${path}" as its owner (uid ${uid}): root has not the right to become it here (${systemCode(cause) ?? cause}); run as that account`,
      { cause },
    )
  let isOwner = false
  try {
    return runAs(unknown, () => {
      isOwner = true
      return { uid, gid: userInfo().gid }
    })
  } catch (error) {
    if (!isOwner) throw refuse(error)
    return unknown
  }
}

/**
 * Makes a call with the rights of an account. They are those of the whole process, so the call must be done when it returns.
 *
 * @param account For root itself nothing changes.
 */
export function runAs<T>({ uid, gid }: SystemAccount, call: () => T): T {
  if (uid === ROOT) return call()
  const [ownGid = ROOT, ownGroups = []] = [process.getegid?.(), process.getgroups?.()]
  try {
    process.setgroups?.([gid])
    process.setegid?.(gid)
    process.seteuid?.(uid)
    return call()
  } finally {
    // Only root may set the others.
    process.seteuid?.(ROOT)
    process.setegid?.(ownGid)
    process.setgroups?.(ownGroups)
  }
}
