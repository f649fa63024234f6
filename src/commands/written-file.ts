import { open, realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Print, shown } from '../command-line/output.ts'
import { ConnbookError, ifReachable, systemCode } from '../errors.ts'
import { realFileSystem } from '../files/file-system.ts'
import { FileNotReplacedError, lookBefore } from '../files/replaced-file.ts'
import { onInterruption } from '../service/signals.ts'
import { isInside } from '../state/backup.ts'
import { inTurn } from '../system-account.ts'

const standardOutputs = ['-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1']

type Write = (print: Print) => Promise<void>

/** Whether a path names standard output. */
export function isStandardOutput(path: string): boolean {
  return standardOutputs.includes(path)
}

/**
 * Whether a path names a pipe or a device: it can be written to, but not replaced.
 *
 * @param what Begins the message of an error. @throws {FileNotReplacedError} if the path cannot be looked at.
 */
export async function isStream(path: string, what: string): Promise<boolean> {
  const found = await lookBefore(ifReachable(realFileSystem.stat(path)), what, path)
  return found !== undefined && !found.isFile() && !found.isDirectory()
}

/** Writes to standard output, where required output was lost if that fails. @throws {OutputError} */
export function writeToOutput(write: Write, what: string, print: Print): Promise<void> {
  return shown(write(print), `write ${what} to standard output`, '; what was written is not complete')
}

/** Writes to a pipe or a device. @throws {FileNotReplacedError} */
export async function writeToStream(write: Write, what: string, path: string): Promise<void> {
  try {
    await using stream = await inTurn(() => open(path, 'w'))
    await write(async (text) => {
      await stream.writeFile(text)
    })
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined || error instanceof ConnbookError) throw error
    const message = `Cannot write ${what} to "${path}" (${code}); what was written is not complete`
    throw new FileNotReplacedError(message, { cause: error })
  }
}

/**
 * The path that a replacement renames to: behind a link, what it points to.
 *
 * @param what As in `isStream`. @param dataFolder Undefined if there is none.
 * @throws {FileNotReplacedError} if it cannot be looked at, is a link to nothing, or would be in the data folder.
 */
export async function replacedPath(
  path: string,
  what: string,
  dataFolder: string | undefined,
): Promise<string> {
  const refuse = (reason: string) => new FileNotReplacedError(`${what} "${path}": ${reason}`)
  const found = await lookBefore(ifReachable(realFileSystem.lstat(path)), what, path)
  const isLink = found?.isSymbolicLink() === true
  const replaced = isLink
    ? await lookBefore(ifReachable(inTurn(() => realpath(path))), what, path)
    : resolve(path)
  if (replaced === undefined)
    throw refuse('it is a link to a missing file; remove the link, or name another file')
  if (dataFolder !== undefined && (await lookBefore(isInside(dataFolder, replaced), what, path)))
    throw refuse('it is in the data folder itself; name another file')
  return replaced
}

/** An interruption leaves no half-written file. */
export function abortOnSignals() {
  const controller = new AbortController()
  // A second signal ends the process, in case the disk hangs.
  const release = onInterruption((signal) => {
    release()
    controller.abort(signal)
  })
  return { signal: controller.signal, [Symbol.dispose]: release }
}
