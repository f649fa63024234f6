import fs, { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { systemCode } from '../errors.ts'
import { quoteForShell } from '../shell.ts'
import {
  hasRightsOfRoot,
  inTurn,
  isRoot,
  ownerOf,
  ROOT,
  type SystemAccount,
  takeRights,
} from '../system-account.ts'
import { lockFileAs } from './file-lock.ts'
import { createFileSystem, type FileSystem, realFileSystem, type Via } from './file-system.ts'
import { refused } from './refusal.ts'

const LINKS_MAX = 40

const { O_DIRECTORY, O_NONBLOCK, O_RDONLY } = fs.constants

/** How root gets to a folder or, while there is none, to the nearest one above. */
interface Way {
  readonly path: string
  /** Whose rights its files are used with. */
  readonly owner: SystemAccount
  /**
   * The folder as it was opened. Undefined where its path is used: nobody but root can exchange the folder, or the system
   * has no /proc.
   */
  readonly fd: number | undefined
}

/**
 * How a folder, which may be missing, and its files are reached.
 *
 * Root works on a folder of another account as that account: so no link that its owner puts there leads root where the
 * owner could not go. Each call that takes a path has the rights of the owner, in a turn of its own. On Linux it begins at
 * the folder as it was opened here, because the owner may not get there by its whole path, as below `/var/lib/private`.
 *
 * Other accounts use the path as it is; root does, too, in a folder of root's, if nobody else can exchange it.
 *
 * @param path Absolute.
 * @throws {FolderRefusedError} if root may not act for the owner, or a link of another account leads to a folder of root's.
 *   While this process has the rights of another account, the files throw it when they are first used.
 */
export function filesOf(path: string): FileSystem {
  if (!isRoot()) return realFileSystem
  const way = hasRightsOfRoot() ? findWay(path) : undefined
  const isRoots = way?.path === path && way.owner.uid === ROOT && way.fd === undefined
  return isRoots ? realFileSystem : ownersFiles(path, way)
}

/** @param first Undefined if it was not looked for yet. */
function ownersFiles(base: string, first: Way | undefined): FileSystem {
  let found = first?.path === base ? first : undefined
  const via: Via = (path, call) =>
    onWay(path, async (way) => {
      using _ = takeRights(way.owner)
      try {
        return await call((each) => reached(way, each))
      } catch (error) {
        throw naming(error, path, way)
      }
    })
  return {
    // The owner may put a pipe there, and to open that would wait for its other end.
    ...createFileSystem(via, O_RDONLY | O_NONBLOCK),
    lock: (path) =>
      onWay(path, (way) => {
        const lock = lockFileAs(way.owner, path, reached(way, path))
        return lock && { release: () => void inTurn(() => lock.release()) }
      }),
  }

  async function onWay<T>(path: string, call: (way: Way) => T | Promise<T>): Promise<T> {
    // The first look at a folder of another account begins the turns.
    if (hasRightsOfRoot()) wayTo(path)
    return inTurn(() => call(wayTo(path)))
  }

  /** While the folder is missing, each call looks whose it is by now: not only this process may make it. */
  function wayTo(path: string): Way {
    first ??= findWay(base)
    const isInside = path.startsWith(join(base, sep))
    if (!isInside && path !== base) return first
    found ??= findFolder(base)
    if (found === undefined && isInside)
      throw Object.assign(new Error(`ENOENT: no folder for '${path}'`), { code: 'ENOENT', path })
    return found ?? first
  }
}

function reached({ path: start, fd }: Way, path: string): string {
  if (fd === undefined) return path
  const inside = join(start, sep)
  if (path === start) return `/proc/self/fd/${fd}/`
  // A path outside is only the owner's way there.
  return path.startsWith(inside) ? `/proc/self/fd/${fd}/${path.slice(inside.length)}` : path
}

/** The error with the paths as they were named. */
function naming(error: unknown, path: string, { path: start, fd }: Way): unknown {
  if (!(error instanceof Error) || systemCode(error) === undefined) return error
  const message = error.message.replaceAll(`/proc/self/fd/${fd}/`, join(start, sep))
  return Object.assign(error, { message, path })
}

/** Undefined while it is missing. */
function findFolder(path: string): Way | undefined {
  const way = findWay(path)
  if (way.path === path) return way
  if (way.fd !== undefined) close(way.path, way.fd)
  return undefined
}

/** A folder that cannot be looked at counts as missing, so that the next call looks again. */
function findWay(path: string): Way {
  let fd: number | undefined
  let found: Stats
  try {
    fd = fs.openSync(path, O_RDONLY | O_DIRECTORY)
    found = fs.fstatSync(fd)
  } catch (error) {
    if (fd !== undefined) fs.closeSync(fd)
    if (path === dirname(path)) throw error
    return findWay(dirname(path))
  }
  let isKept = false
  try {
    const owner = findOwner(path, fd, found)
    // Left open until the process ends, which removes its socket through it.
    isKept = owner !== undefined && hasPath(fd)
    return { path, owner: owner ?? { uid: ROOT, gid: ROOT }, fd: isKept ? fd : undefined }
  } finally {
    if (!isKept) close(path, fd)
  }
}

/** @throws the system's error with the path, which Node does not give it. */
function close(path: string, fd: number): void {
  try {
    fs.closeSync(fd)
  } catch (error) {
    throw Object.assign(error as object, { path })
  }
}

/** Undefined for root in a folder that nobody else can exchange, and without /proc, where that cannot be checked. */
function findOwner(path: string, fd: number, found: Stats): SystemAccount | undefined {
  if (found.uid !== ROOT) return ownerOf(path, found)
  const { end, isRoots } = followWay(path)
  if (isRoots || !hasPath(fd)) return undefined
  if (fs.readlinkSync(`/proc/self/fd/${fd}`) !== end)
    throw refused(path, 'somebody exchanges it', found, 'name a folder that only root can exchange')
  return { uid: ROOT, gid: ROOT }
}

/** Whether the system has a path that begins at an open folder. */
function hasPath(fd: number): boolean {
  return fs.existsSync(`/proc/self/fd/${fd}/`)
}

/** Where a path leads. */
interface ResolvedPath {
  /** Without links. */
  readonly end: string
  /** Whether nobody but root can change where it leads. */
  readonly isRoots: boolean
}

/**
 * Follows a path of root's to a folder of root's.
 *
 * @throws {FolderRefusedError} for a link of another account, which could lead root to any folder.
 */
function followWay(path: string): ResolvedPath {
  const names = namesOf(path)
  let end = resolve('/')
  let isRoots = isSafe(lstatSync(end))
  for (let links = 0; ; ) {
    const name = names.shift()
    if (name === undefined) return { end, isRoots }
    const next = join(end, name)
    const found = lstatSync(next)
    if (!found.isSymbolicLink()) {
      end = next
      // The last one is the folder itself.
      if (names.length > 0) isRoots &&= isSafe(found)
      continue
    }
    if (found.uid !== ROOT) throw refusedLink(next, found)
    links += 1
    if (links > LINKS_MAX)
      throw refused(path, 'there are too many links on the way to it', found, 'name another')
    const target = resolve(end, readlinkSync(next))
    names.unshift(...namesOf(target))
    end = resolve('/')
  }
}

function namesOf(path: string): string[] {
  return path.split(sep).filter((name) => name !== '')
}

/** Whether no other account can exchange a folder of root's in this one. */
function isSafe({ uid, mode }: Stats): boolean {
  const isSticky = (mode & 0o1000) !== 0
  return uid === ROOT && (isSticky || (mode & 0o002) === 0)
}

function refusedLink(link: string, found: Stats) {
  const remedy = `name the folder itself, or run: chown -h root ${quoteForShell(link)}`
  return refused(link, 'it is a link of another account, and leads to a folder of root', found, remedy)
}
