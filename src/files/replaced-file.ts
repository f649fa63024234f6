import { basename, dirname, join } from 'node:path'
import { ConnbookError, ifPresent, NO_INODES, systemCode } from '../errors.ts'
import { openAtomicFile, removeIfPresent, temporaryFileOf } from './atomic-file.ts'
import type { FileSystem } from './file-system.ts'

const ABANDONED_MS = 60 * 60_000
const UNTOUCHED = 'what was there before is untouched'

export class FileNotReplacedError extends ConnbookError {
  readonly code = 'file_not_replaced'
}

/**
 * Writes a file that gets its name once it is complete and on disk, with mode 0600.
 *
 * @param what Begins the message of an error: "Cannot keep a backup in".
 * @param write Gets the function that writes a piece.
 * @param interruption Aborts it; the error names its reason.
 * @param keepsAccess Whether the mode of a file that was there is kept and, as root, its owner and group.
 * @throws {FileNotReplacedError} if it was aborted, or the system failed; the message says what is there now.
 */
export async function replaceFile(
  path: string,
  what: string,
  write: (write: (text: string) => Promise<void>) => Promise<void>,
  interruption: AbortSignal,
  files: FileSystem,
  keepsAccess = false,
): Promise<void> {
  await explainReplacing({ path, what, interruption }, async (onPlaced) => {
    await sweepAbandoned(path, files)
    const before = keepsAccess ? await ifPresent(files.lstat(path)) : undefined
    const file = await openAtomicFile(path, files)
    try {
      await write((text) => {
        interruption.throwIfAborted()
        return file.write(text)
      })
      // Before the file has its name: it is never there with another mode or owner.
      if (before?.isFile()) await file.setAccess(before)
      await file.commit()
    } finally {
      if (file.isInPlace) onPlaced()
      await file.abort()
    }
  })
}

/**
 * Explains why a file was not replaced.
 *
 * @param replace Is given a function to call once the new file has its name.
 * @throws {FileNotReplacedError} as `replaceFile` does; any other error of `replace` as it is.
 */
export async function explainReplacing<Result>(
  {
    path,
    what,
    interruption,
  }: { readonly path: string; readonly what: string; readonly interruption: AbortSignal },
  replace: (onPlaced: () => void) => Promise<Result>,
): Promise<Result> {
  let isInPlace = false
  try {
    return await replace(() => {
      isInPlace = true
    })
  } catch (error) {
    const reason = interruption.aborted ? interruption.reason : systemCode(error)
    if (reason === undefined || error instanceof ConnbookError) throw error
    const state = isInPlace ? 'it is there, but may not outlive a power loss' : UNTOUCHED
    throw notReplaced(what, path, reason, state, error)
  }
}

/**
 * The result of a look at a file that is to be replaced.
 *
 * @param what As in `replaceFile`.
 * @throws {FileNotReplacedError} if the system failed.
 */
export function lookBefore<T>(look: Promise<T>, what: string, path: string): Promise<T> {
  return look.catch((error: unknown) => {
    const reason = systemCode(error)
    if (reason === undefined || error instanceof ConnbookError) throw error
    throw notReplaced(what, path, reason, UNTOUCHED, error)
  })
}

function notReplaced(what: string, path: string, reason: string, state: string, cause: unknown) {
  const advice = adviceFor[reason] ?? ''
  return new FileNotReplacedError(`${what} "${path}" (${reason}); ${state}${advice}`, { cause })
}

const adviceFor: Readonly<Record<string, string>> = {
  EACCES: '; name a folder that this account can write',
  EDQUOT: '; make room there',
  EFBIG: '; raise the limit on file sizes',
  ELOOP: '; name another file',
  ENAMETOOLONG: '; name another file',
  ENOENT: '; make its folder first',
  ENOSPC: '; make room there',
  [NO_INODES]: '; no inodes are left there: remove files that are not needed',
  ENOTDIR: '; make its folder first',
  EPERM: '; run as the owner of that file, or name another one',
  EROFS: '; name a folder that can be written',
}

/** Removes temporary files of killed writers of the same file; younger ones may still be written. */
async function sweepAbandoned(path: string, files: FileSystem) {
  const folder = dirname(path)
  for (const entry of await files.readdir(folder)) {
    if (temporaryFileOf(entry) !== basename(path)) continue
    // Another writer may have completed meanwhile.
    const found = await ifPresent(files.lstat(join(folder, entry)))
    if (found !== undefined && found.mtimeMs < Date.now() - ABANDONED_MS)
      await removeIfPresent(join(folder, entry), files)
  }
}
