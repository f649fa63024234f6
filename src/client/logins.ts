import { mkdir } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { ConnbookError, ifReachable } from '../errors.ts'
import { sweepTemporaryFiles } from '../files/atomic-file.ts'
import { lockFile, waitForLock } from '../files/file-lock.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { createJsonDocument } from '../files/json-document.ts'
import { checkMembers, isObject } from '../json.ts'
import { quoteForShell } from '../shell.ts'
import { homeFolder } from '../system-account.ts'
import { describeOwner } from '../text.ts'

const FILE = 'sessions.json'
const LOCK = '.sessions-lock'
const FORGET = 'remove the file, and log in again with "connbook login URL"'

/** The session that a login gave. */
export interface Login {
  /** Name of its place. */
  readonly server: string
  readonly user: string
  /** `NAME=VALUE`. */
  readonly cookie: string
  /** Path of a file with more certificate authorities. */
  readonly authorities?: string
  /** Whether the user has agreed to send it where others on the network can read it. */
  readonly isPlain?: boolean
}

/** The file of logins cannot be used. */
export class LoginsRefusedError extends ConnbookError {
  readonly code = 'logins_refused'
}

/** What `connbook login` keeps: one session a server, in a file that only its owner can read. */
export interface Logins {
  readonly path: string
  /** @throws {LoginsRefusedError} {DamagedFileError} */
  list(): Promise<readonly Login[]>
  /** In the place of one for the same server. Throws as `list` does. */
  keep(login: Login): Promise<void>
  /** Throws as `list` does. */
  forget(server: string): Promise<void>
}

/** Below `$XDG_STATE_HOME`, or else `~/.local/state` (XDG Base Directory Specification). */
export function loginsOf(environment: NodeJS.ProcessEnv, files: FileSystem = realFileSystem): Logins {
  const { XDG_STATE_HOME: state = '', HOME: home } = environment
  const folder = join(isAbsolute(state) ? state : join(home || homeFolder(), '.local', 'state'), 'connbook')
  const path = join(folder, FILE)
  const document = createJsonDocument(
    path,
    { format: 'connbook sessions', version: 1, parse: parseLogins },
    FORGET,
    files,
  )
  return {
    path,
    list,
    keep: (login) => change((logins) => [...logins.filter(({ server }) => server !== login.server), login]),
    forget: (name) => change((logins) => logins.filter(({ server }) => server !== name)),
  }

  async function list(): Promise<readonly Login[]> {
    await checkPrivate(path, files)
    return (await document.read()) ?? []
  }

  async function change(edit: (logins: readonly Login[]) => readonly Login[]) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const lock = await waitForLock(() => lockFile(join(folder, LOCK)))
    if (lock === undefined)
      throw new LoginsRefusedError(`Cannot change "${path}": another command is doing so; try again`)
    try {
      await sweepTemporaryFiles(folder, [FILE], files)
      await document.write(edit(await list()))
    } finally {
      lock.release()
    }
  }
}

/** Another account could have put its own sessions there, or could read these. */
async function checkPrivate(path: string, files: FileSystem) {
  const uid = process.getuid?.()
  const found = await ifReachable(files.lstat(path))
  if (found === undefined || uid === undefined) return
  const refuse = (reason: string, remedy: string) =>
    new LoginsRefusedError(
      `Cannot use the logins in "${path}": ${reason} (${describeOwner(found)}); ${remedy}`,
    )
  if (found.uid !== uid) throw refuse('the file belongs to another account', FORGET)
  // The mode of a link says nothing, and the next login would put a file in its place.
  if (found.isSymbolicLink())
    throw refuse('it is a symbolic link', 'put the file itself there, or point XDG_STATE_HOME at its folder')
  if ((found.mode & 0o077) !== 0)
    throw refuse('others may read or write it', `if nobody did: chmod 600 ${quoteForShell(path)}`)
}

function parseLogins(input: unknown): readonly Login[] {
  if (!Array.isArray(input)) throw new SyntaxError('it holds no list of logins')
  return input.map((entry: unknown) => {
    if (!isObject(entry)) throw new SyntaxError('it holds something that is no login')
    const { server, user, cookie, authorities, isPlain, ...others } = entry
    checkMembers(others, [], 'a login')
    if (typeof server !== 'string' || typeof user !== 'string' || typeof cookie !== 'string')
      throw new SyntaxError('it holds a login that is not complete')
    return {
      ...{ server, user, cookie },
      ...(typeof authorities === 'string' ? { authorities } : {}),
      ...(isPlain === true ? { isPlain } : {}),
    }
  })
}
