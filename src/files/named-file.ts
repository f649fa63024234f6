import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, type Stats } from 'node:fs'
import { ConnbookError, systemCode, UsageError } from '../errors.ts'
import { quoteForShell } from '../shell.ts'
import { describeOwner } from '../text.ts'

/** A file that an option names. */
export interface NamedFile {
  readonly flag: string
  readonly path: string
  /** Follows "name a" in advice: "PEM file". */
  readonly kind: string
  readonly bytesMax: number
}

/** Other users have access to a secret file. */
export class KeyExposedError extends ConnbookError {
  readonly code = 'key_exposed'
}

/**
 * Reads a file as text. Follows symbolic links.
 *
 * @param isSecret Whether others must have no access to it.
 * @throws {KeyExposedError} if they have; names the command that mends it.
 * @throws {UsageError} if it cannot be read, is not a plain file, is empty or too long.
 */
export function readNamedFile(file: NamedFile, { isSecret }: { readonly isSecret: boolean }): string {
  let fd: number | undefined
  try {
    // O_NONBLOCK, because opening a pipe would wait for a writer.
    fd = openSync(file.path, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = fstatSync(fd)
    if (found.isDirectory()) throw refusedFile(file, 'it is a folder', 'name the file in it')
    if (!found.isFile()) throw refusedFile(file, 'it is not a plain file', 'put what it holds into a file')
    if (isSecret) checkSecret(file, found)
    if (found.size > file.bytesMax) {
      throw refusedFile(file, `it is longer than ${file.bytesMax} bytes`, `name a ${file.kind}`)
    }
    const text = readFileSync(fd, 'utf8')
    if (text.trim() === '') throw refusedFile(file, 'it is empty', 'see whether it was written to the end')
    return text
  } catch (error) {
    throw error instanceof ConnbookError ? error : unreadable(file, error)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** Allows a group to read a key of root: Debian's ssl-cert, Kubernetes' fsGroup and `install -g` need that. */
function checkSecret(file: NamedFile, found: Stats) {
  const { mode, uid } = found
  const forOthers = mode & 0o077
  if (process.platform === 'win32' || forOthers === 0 || (uid === 0 && forOthers === 0o040)) return
  throw new KeyExposedError(
    `Cannot use ${file.flag} "${file.path}": others can get at it (${describeOwner(found)}); ${cureFor(file.path, uid)}`,
  )
}

function cureFor(file: string, uid: number): string {
  if (isOfKubernetes(file))
    return 'it is of a volume of Kubernetes: give the volume defaultMode: 0440, and the pod securityContext.fsGroup, its own group'
  const path = quoteForShell(file)
  const ownId = process.getuid?.()
  // With mode 600 this process could not read another user's file any more.
  return ownId === 0 || ownId === uid
    ? `run: chmod 600 ${path}`
    : `run as root: chown root:${process.getgid?.()} ${path} && chmod 640 ${path}`
}

/** Kubernetes mounts secrets read-only, as links over a folder `..data`; nobody can change their modes there. */
function isOfKubernetes(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('..data/')
  } catch {
    return false
  }
}

function unreadable(file: NamedFile, error: unknown): UsageError {
  const code = systemCode(error) ?? String(error)
  const known: Record<string, readonly [reason: string, advice: string]> = {
    EACCES: ['this account has no permission to read it', 'see the modes on the way to it: namei -l'],
    ENOENT: ['there is no such file', `name a ${file.kind}`],
    ENOTDIR: ['there is no such file', `name a ${file.kind}`],
    ENXIO: ['it is not a plain file', 'put what it holds into a file'],
  }
  const [reason, advice] = known[code] ?? ['it cannot be read', 'see whether the disk works']
  return refusedFile(file, `${reason} (${code})`, advice, error)
}

/** The error for a file that is not what its option asks for. */
export function refusedFile(
  { flag, path }: Pick<NamedFile, 'flag' | 'path'>,
  reason: string,
  advice: string,
  cause?: unknown,
): UsageError {
  return new UsageError(`Cannot use ${flag} "${path}": ${reason}; ${advice}`, { cause })
}
