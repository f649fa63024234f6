import { isSea } from 'node:sea'
import { UsageError } from '../errors.ts'
import { parseCommandLine, serverFlags } from './options.ts'
import type { Print } from './output.ts'
import { serviceUnit, socketUnit } from './systemd-units.ts'

/**
 * Prints a unit for systemd that starts this executable with the flags that are given.
 *
 * @throws {UsageError} for what is not understood, and where there is no executable to be started.
 */
export async function runSystemdCommand(args: readonly string[], print: Print): Promise<void> {
  // Variables of whoever types this are not those of the service.
  const { options, given, words } = parseCommandLine(args, {}, [...serverFlags, 'socket'])
  if (words.length > 0) throw new UsageError('Write it as: connbook systemd [--socket] [FLAGS]')
  const controlled = [process.execPath, ...given.values()].find((text) => /\p{Cc}/u.test(text))
  if (controlled !== undefined) {
    throw new UsageError(`Cannot write ${JSON.stringify(controlled)} into a unit: it has a control character`)
  }
  if (options.socket) return print(socketUnit({ options }))
  if (!isSea()) {
    throw new UsageError('Cannot tell which executable to start: this runs from source; use dist/connbook')
  }
  if (/["'\\]/.test(process.execPath)) {
    throw new UsageError(
      `Cannot have systemd start ${process.execPath}: it takes no program with a quote or a backslash in its path; put it elsewhere`,
    )
  }
  const ofServer = new Map([...given].filter(([flag]) => flag !== '--socket'))
  await print(serviceUnit({ executable: process.execPath, commandLine: { options, given: ofServer } }))
}
