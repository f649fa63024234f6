import fs, { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { promisify } from 'node:util'
import { systemCode } from '../errors.ts'
import { quoteForShell } from '../shell.ts'
import { isRoot, ownerOf, ROOT, runAs, type SystemAccount } from '../system-account.ts'
import { lockFileAs } from './file-lock.ts'
import { type FileSystem, type OpenFile, realFileSystem, withNamedErrors } from './file-system.ts'
import { refused } from './refusal.ts'

const LINKS_MAX = 40

const { O_DIRECTORY, O_NONBLOCK, O_RDONLY } = fs.constants

/** The folder at a path or, while there is none, the nearest one above. */
interface Nearest {
  readonly path: string
  readonly fd: number
  readonly found: Stats
  /** A path that begins at the open folder. Undefined where the system has none. */
  readonly anchor: string | undefined
}

/**
 * How a folder, which may be missing, and its files are reached.
 *
 * Root works on a folder of another account as that account: so no link that its owner puts there leads root where the
 * owner could not go. Each call that takes a path has the rights of the owner, and ends before anything else runs. On Linux
 * it begins at the folder as it was opened here, because the owner may not get there by its whole path, as below
 * `/var/lib/private`.
 *
 * Other accounts use the path as it is; root does, too, in a folder of root's, if nobody else can exchange it.
 *
 * @param path Absolute.
 * @throws {FolderRefusedError} if root may not act for the owner, or a link of another account leads to a folder of root's.
 */
export function filesOf(path: string): FileSystem {
  if (!isRoot()) return realFileSystem
  const nearest = openNearest(path)
  const files = nearestFiles(nearest)
  return nearest.path === path ? files : missingFiles(path, files)
}

/**
 * The files of a folder that is missing. Not only this process may make it, so each call looks whose it is by now.
 *
 * @param above How the folder is made.
 */
function missingFiles(missing: string, above: FileSystem): FileSystem {
  let found: FileSystem | undefined
  const now = (path: string): FileSystem => {
    const isInside = path.startsWith(join(missing, sep))
    if (!isInside && path !== missing) return above
    found ??= findFiles(missing)
    if (found === undefined && isInside)
      throw Object.assign(new Error(`ENOENT: no folder for '${path}'`), { code: 'ENOENT', path })
    return found ?? above
  }
  return {
    open: async (path, flags, mode) => now(path).open(path, flags, mode),
    readFile: async (path) => now(path).readFile(path),
    rename: async (from, to) => now(from).rename(from, to),
    unlink: async (path) => now(path).unlink(path),
    mkdir: async (path, mode) => now(path).mkdir(path, mode),
    rmdir: async (path) => now(path).rmdir(path),
    chmod: async (path, mode) => now(path).chmod(path, mode),
    readdir: async (path) => now(path).readdir(path),
    access: async (path, mode) => now(path).access(path, mode),
    stat: async (path) => now(path).stat(path),
    lstat: async (path) => now(path).lstat(path),
    freeBytes: async (path) => now(path).freeBytes(path),
    lock: (path) => now(path).lock(path),
    reach: (path, use) => now(path).reach(path, use),
  }
}

/** Undefined if there is no folder. */
function findFiles(path: string): FileSystem | undefined {
  const nearest = openNearest(path)
  if (nearest.path === path) return nearestFiles(nearest)
  closeNearest(nearest)
  return undefined
}

function nearestFiles(nearest: Nearest): FileSystem {
  const { anchor } = nearest
  let isAnchored = false
  try {
    const owner = findOwner(nearest)
    if (owner === undefined) return realFileSystem
    // Left open until the process ends, which removes its socket through it.
    isAnchored = anchor !== undefined
    return ownersFiles(nearest, owner)
  } finally {
    if (!isAnchored) closeNearest(nearest)
  }
}

/** @throws the system's error with the `path`, which Node does not give it. */
function closeNearest({ path, fd }: Nearest): void {
  try {
    fs.closeSync(fd)
  } catch (error) {
    throw Object.assign(error as object, { path })
  }
}

/** Undefined for root in a folder that nobody else can exchange, and without /proc, where that cannot be checked. */
function findOwner({ path, fd, found, anchor }: Nearest): SystemAccount | undefined {
  if (found.uid !== ROOT) return ownerOf(path, found)
  const { end, isRoots } = followWay(path)
  if (isRoots || anchor === undefined) return undefined
  if (fs.readlinkSync(`/proc/self/fd/${fd}`) !== end)
    throw refused(path, 'somebody exchanges it', found, 'name a folder that only root can exchange')
  return { uid: ROOT, gid: ROOT }
}

/** One that cannot be looked at counts as missing, so that the next call looks again. */
function openNearest(path: string): Nearest {
  let fd: number | undefined
  try {
    fd = fs.openSync(path, O_RDONLY | O_DIRECTORY)
    const found = fs.fstatSync(fd)
    const anchor = `/proc/self/fd/${fd}/`
    return { path, fd, found, anchor: fs.existsSync(anchor) ? anchor : undefined }
  } catch (error) {
    if (fd !== undefined) fs.closeSync(fd)
    if (path === dirname(path)) throw error
    return openNearest(dirname(path))
  }
}

function ownersFiles({ path: base, anchor }: Nearest, owner: SystemAccount): FileSystem {
  return {
    async open(path, flags, mode) {
      // The owner may put a pipe there, and to open that would wait for its other end.
      const file = as(path, (own) => fs.openSync(own, flags === 'r' ? O_RDONLY | O_NONBLOCK : flags, mode))
      return withNamedErrors(openedFile(file), path)
    },
    readFile: async (path) => as(path, (own) => fs.readFileSync(own, { flag: O_RDONLY | O_NONBLOCK })),
    rename: async (from, to) => as(from, (own) => fs.renameSync(own, reached(to))),
    unlink: async (path) => as(path, fs.unlinkSync),
    mkdir: async (path, mode) => void as(path, (own) => fs.mkdirSync(own, mode)),
    rmdir: async (path) => as(path, (own) => fs.rmdirSync(own)),
    chmod: async (path, mode) => as(path, (own) => fs.chmodSync(own, mode)),
    readdir: async (path) => as(path, (own) => fs.readdirSync(own)),
    access: async (path, mode) => as(path, (own) => fs.accessSync(own, mode)),
    stat: async (path) => as(path, (own) => fs.statSync(own)),
    lstat: async (path) => as(path, (own) => fs.lstatSync(own)),
    freeBytes: (path) => realFileSystem.freeBytes(reached(path)),
    lock: (path) => lockFileAs(owner, path, reached(path)),
    reach: as,
  }

  /** A path outside is only the owner's way there. */
  function reached(path: string): string {
    if (anchor === undefined) return path
    if (path === base) return anchor
    return path.startsWith(`${base}/`) ? anchor + path.slice(base.length + 1) : path
  }

  function as<T>(path: string, call: (own: string) => T): T {
    const own = reached(path)
    try {
      return runAs(owner, () => call(own))
    } catch (error) {
      if (!(error instanceof Error) || systemCode(error) === undefined) throw error
      const message = anchor === undefined ? error.message : error.message.replaceAll(anchor, `${base}/`)
      throw Object.assign(error, { message, path })
    }
  }
}

/** Async: to sync a file may take long. It has the rights with which the file was opened. */
function openedFile(fd: number): OpenFile {
  let isOpen = true
  /** A number of a closed file may be that of another one by now. */
  const use = () => {
    if (isOpen) return fd
    throw Object.assign(new Error('EBADF: the file is closed'), { code: 'EBADF' })
  }
  return {
    write: async (bytes, offset, length, position) => write(use(), bytes, offset, length, position),
    read: async (bytes, offset, length, position) => read(use(), bytes, offset, length, position),
    sync: async () => sync(use()),
    datasync: async () => datasync(use()),
    truncate: async (length) => truncate(use(), length),
    chown: async (uid, gid) => chown(use(), uid, gid),
    chmod: async (mode) => chmod(use(), mode),
    stat: async () => stat(use()),
    async close() {
      if (!isOpen) return
      isOpen = false
      await close(fd)
    },
  }
}

const write = promisify(fs.write)
const read = promisify(fs.read)
const sync = promisify(fs.fsync)
const datasync = promisify(fs.fdatasync)
const truncate = promisify(fs.ftruncate)
const chown = promisify(fs.fchown)
const chmod = promisify(fs.fchmod)
const stat = promisify(fs.fstat)
const close = promisify(fs.close)

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
