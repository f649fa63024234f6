import { lstat, open, realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Print, shown } from '../command-line/output.ts'
import { ifReachable, systemCode } from '../errors.ts'
import { FileNotReplacedError } from '../files/replaced-file.ts'
import { onInterruption } from '../service/signals.ts'

const standardOutputs = ['-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1']

type Write = (print: Print) => Promise<void>

/** Whether a path names standard output. */
export function isStandardOutput(path: string): boolean {
  return standardOutputs.includes(path)
}

/** Whether a path names a pipe or a device: it can be written to, but not replaced. */
export async function isStream(path: string): Promise<boolean> {
  const found = await ifReachable(stat(path))
  return found !== undefined && !found.isFile() && !found.isDirectory()
}

/** Writes to standard output, where required output was lost if that fails. @throws {OutputError} */
export function writeToOutput(write: Write, what: string, print: Print): Promise<void> {
  return shown(write(print), `write ${what} to standard output`, '; what was written is not complete')
}

/** Writes to a pipe or a device. @throws {FileNotReplacedError} */
export async function writeToStream(write: Write, what: string, path: string): Promise<void> {
  try {
    await using stream = await open(path, 'w')
    await write(async (text) => {
      await stream.writeFile(text)
    })
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined) throw error
    const message = `Cannot write ${what} to "${path}" (${code}); what was written is not complete`
    throw new FileNotReplacedError(message, { cause: error })
  }
}

/** The path that a replacement renames to: behind a link, what it points to. */
export async function replacedPath(path: string): Promise<string> {
  const found = await ifReachable(lstat(path))
  if (found?.isSymbolicLink() !== true) return resolve(path)
  return realpath(path)
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
