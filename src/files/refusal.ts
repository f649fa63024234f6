import { readlinkSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { describeNoRoom, FolderRefusedError, ifPresent, NO_INODES, systemCode } from '../errors.ts'
import { quoteForShell } from '../shell.ts'
import { describeOwner } from '../text.ts'
import type { FileSystem } from './file-system.ts'

interface FailureText {
  readonly reason: string
  readonly remedy: string
}

const failedDisk: FailureText = {
  reason: 'the disk failed',
  remedy: 'see what the system says about the disk (dmesg), and try again when it works',
}
const fullDisk: FailureText = { reason: 'no room is left on the disk', remedy: 'make room, and try again' }
const tooManyFiles: FailureText = {
  reason: 'too many files are open',
  remedy: 'raise the limit on open files (ulimit -n)',
}
/** What a system call or SQLite can say about a disk. */
const diskFailures: Readonly<Record<string, FailureText>> = {
  EDQUOT: { reason: 'the quota of this account is used up', remedy: 'make room, or raise the quota' },
  EFBIG: { reason: 'the file would exceed the limit on file sizes', remedy: 'raise that limit (ulimit -f)' },
  EIO: failedDisk,
  EMFILE: tooManyFiles,
  ENFILE: tooManyFiles,
  ENODEV: failedDisk,
  ENOSPC: fullDisk,
  [NO_INODES]: { reason: describeNoRoom(NO_INODES), remedy: 'remove files that are not needed there' },
  ENXIO: failedDisk,
  EROFS: {
    reason: 'the file system is read-only',
    remedy: 'mount it for writing, or name another folder with --data',
  },
  ESTALE: failedDisk,
  EUCLEAN: failedDisk,
  SQLITE_FULL: fullDisk,
  SQLITE_IOERR: failedDisk,
}

/** What a code of the system or of SQLite says about a disk, and what to do; undefined for other codes. */
export function findDiskFailure(code: string): FailureText | undefined {
  return diskFailures[code]
}

/** What else a system call can say about a path, or about the process. */
const faults: Readonly<Record<string, FailureText>> = {
  EACCES: { reason: 'this account has no permission', remedy: 'run as its owner, or name another' },
  EBUSY: { reason: 'something else uses it', remedy: 'see what does, and try again' },
  EEXIST: { reason: 'it is there already', remedy: 'move it away, and try again' },
  EISDIR: { reason: 'it is a folder', remedy: 'name a file' },
  ELOOP: { reason: 'too many links follow each other', remedy: 'remove the link that leads back' },
  ENAMETOOLONG: { reason: 'the name is too long', remedy: 'name a shorter path' },
  ENOENT: {
    reason: 'there is no such file or folder',
    remedy: 'see whether it was moved, or its disk is not mounted, and try again',
  },
  ENOMEM: { reason: 'no memory is left', remedy: 'give it more memory, and try again' },
  ENOTDIR: { reason: 'a part of its path is no folder', remedy: 'name another path' },
  ENOTEMPTY: { reason: 'it is a folder that is not empty', remedy: 'move away what is in it' },
  EPERM: { reason: 'the system does not allow it', remedy: 'run as its owner, or name another' },
}

/** An error of a system call that nobody has foreseen, as "Cannot …: reason; remedy". */
export function describeSystemError(error: Error): string {
  const code = systemCode(error) ?? ''
  const what = 'path' in error && typeof error.path === 'string' ? `use "${error.path}"` : 'go on'
  const call = 'syscall' in error && typeof error.syscall === 'string' ? `${error.syscall}: ` : ''
  const { reason, remedy } = findDiskFailure(code) ??
    faults[code] ?? {
      reason: 'the system refused a call',
      remedy: 'see what the system says about it (dmesg), and try again',
    }
  return `Cannot ${what}: ${reason} (${call}${code}); ${remedy}`
}

/** Whether a code says that this account has no right. */
export function isDenial(code: string): boolean {
  return code === 'EACCES' || code === 'EPERM'
}

/** @param found The file itself, if it could be looked at. */
export function refused(path: string, reason: string, found: Stats | undefined, advice: string) {
  const whose = found === undefined ? '' : ` (${describeOwner(found)})`
  return new FolderRefusedError(`Cannot use "${path}": ${reason}${whose}; ${advice}`)
}

/**
 * Throws the error; as FolderRefusedError, with advice, when the system has denied this account a path, or the disk of
 * a path failed or is full.
 */
export async function throwExplained(error: unknown, files: FileSystem): Promise<never> {
  if (!(error instanceof Error && 'path' in error && typeof error.path === 'string')) throw error
  const code = systemCode(error) ?? ''
  if (findDiskFailure(code) !== undefined)
    throw new FolderRefusedError(describeSystemError(error), { cause: error })
  if (!isDenial(code)) throw error
  const { path, found } = await findInTheWay(error.path, files)
  const advice = found === undefined ? RUN_AS_OWNER : await adviseOn(path, found, files)
  throw refused(path, `this account has no permission (${code})`, found, advice)
}

const RUN_AS_OWNER = 'run as its owner, or name another folder with --data'

async function adviseOn(path: string, found: Stats, files: FileSystem): Promise<string> {
  const own = process.getuid?.()
  const above = await files.stat(dirname(path)).catch(() => undefined)
  // There root works as the owner of the folder, who may not use what root has left.
  if (own === 0 && found.uid === 0 && above !== undefined && above.uid !== 0)
    return `run: chown --reference=${quoteForShell(dirname(path))} ${quoteForShell(path)}`
  if (own !== 0 && own !== found.uid) return RUN_AS_OWNER
  return `run: chmod ${found.isDirectory() ? 700 : 600} ${quoteForShell(path)}`
}

/** The path itself, or else its nearest parent for which `lstat` works. */
async function findInTheWay(denied: string, files: FileSystem) {
  for (let path = denied; ; path = dirname(path)) {
    const found = await files.lstat(path).catch(() => undefined)
    if (found !== undefined || path === dirname(path)) return { path, found }
  }
}

/**
 * Checks that neither a path nor a part of it is a link to nothing: what such a link names is often not mounted.
 *
 * @throws {FolderRefusedError} that names the link and where it leads.
 */
export async function checkNoDanglingLink(path: string, files: FileSystem): Promise<void> {
  const found = await ifPresent(files.lstat(path), ['ENOENT', 'ENOTDIR', 'ELOOP'])
  if (found === undefined) {
    if (dirname(path) !== path) await checkNoDanglingLink(dirname(path), files)
    return
  }
  if (!found.isSymbolicLink()) return
  if ((await ifPresent(files.stat(path), ['ENOENT', 'ENOTDIR', 'ELOOP'])) !== undefined) return
  const target = await files.reach(path, (own) => readlinkSync(own))
  throw refused(
    path,
    `it is a link to "${target}", and nothing is there`,
    undefined,
    'mount or make that folder, or name another with --data',
  )
}
