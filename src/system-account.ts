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

/** Ends when the calls so far have ended; undefined while this process acts for its own account alone. */
let turns: Promise<unknown> | undefined

let ownName: string | undefined

/** The account of this process; in a container it may have no name. */
export function systemAccount(): string {
  ownName ??= findOwnName()
  return ownName
}

function findOwnName(): string {
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

/** Whether root runs this process, whose rights may be those of another account just now. */
export function isRoot(): boolean {
  return process.getuid?.() === ROOT
}

/** Whether it has the rights of root just now, and not those of an account that root acts for. */
export function hasRightsOfRoot(): boolean {
  return process.geteuid?.() === ROOT
}

/**
 * The account that owns a folder, with its own group: that of the folder may have more rights than the owner has. From
 * now on the calls of `inTurn` take turns.
 *
 * @param folder Its group stands in for that of an account that the system does not know.
 * @throws {FolderRefusedError} if root may not act for this account.
 */
export function ownerOf(path: string, folder: SystemAccount): SystemAccount {
  const { uid } = folder
  turns ??= Promise.resolve()
  // While this process has the rights of another account, the system tells the name of that one.
  systemAccount()
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

/** Makes a call with the rights of an account, and is done with it when it returns. Only within a turn; see `inTurn`. */
export function runAs<T>(account: SystemAccount, call: () => T): T {
  using _ = takeRights(account)
  return call()
}

/**
 * Gives this process, with all its threads, the rights of an account until that is disposed of. Only within a turn; see
 * `inTurn`.
 *
 * @param account For root itself nothing changes.
 */
export function takeRights({ uid, gid }: SystemAccount): Disposable {
  if (uid === ROOT) return { [Symbol.dispose]() {} }
  const [ownGid = ROOT, ownGroups = []] = [process.getegid?.(), process.getgroups?.()]
  const giveBack = () => {
    // Only root may set the others.
    process.seteuid?.(ROOT)
    process.setegid?.(ownGid)
    process.setgroups?.(ownGroups)
  }
  try {
    process.setgroups?.([gid])
    process.setegid?.(gid)
    process.seteuid?.(uid)
    return { [Symbol.dispose]: giveBack }
  } catch (error) {
    giveBack()
    throw error
  }
}

/**
 * Makes a call that depends on the rights of this process, which are those of root when it begins. Of such calls, one is
 * under way at a time: a call that waits in a thread goes on with whatever rights the process has by then, and one that
 * waits for the other end of a pipe even follows its path again.
 *
 * @param call Must not wait for another turn. What it does with an open file needs no turn, but for its owner and mode.
 */
export async function inTurn<T>(call: () => T | Promise<T>): Promise<T> {
  if (turns === undefined) return call()
  const turn = turns.then(call)
  turns = turn.catch(() => {})
  return turn
}
