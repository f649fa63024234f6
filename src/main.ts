import { fstatSync, writeSync } from 'node:fs'
import { DamageFoundError } from './cli/check.ts'
import { getFamily } from './cli/command.ts'
import { commands } from './cli/commands.ts'
import { helpFor } from './cli/help.ts'
import { lookOf } from './cli/look.ts'
import { inform } from './cli/output.ts'
import { serve } from './cli/serve.ts'
import {
  ConnbookError,
  DamagedFileError,
  FolderInUseError,
  InvalidInputError,
  systemCode,
  UsageError,
} from './errors.ts'
import { throwExplained } from './files/data-folder.ts'
import { version } from './version.ts'

// sysexits.h has names for these: EX_DATAERR and EX_TEMPFAIL.
const EXIT_DAMAGED = 65
const EXIT_IN_USE = 75

async function main(words: readonly string[]): Promise<void> {
  const look = lookOf(process.stdout, process.env)
  const [first, ...rest] = words
  if (asksForHelp(words)) await inform(print, helpFor(commands, words, look))
  else if (first === '--version') {
    if (rest.length > 0) throw new UsageError('Write it as: connbook --version')
    await inform(print, `connbook ${version}\n`)
  } else if (first === undefined || first.startsWith('-')) await serve(words, process.env)
  else await getFamily(commands, first)[0].run(rest, process.env, print, look)
}

/** Behind `--` stand names. */
function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end === -1 ? undefined : end).some((word) => word === '--help' || word === '-h')
}

/** Node would not notice when a file takes only a part of the text. */
function print(text: string): Promise<void> {
  if (isFile(process.stdout.fd)) return writeAllTo(process.stdout.fd, Buffer.from(text))
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

async function writeAllTo(fd: number, bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written)
}

function isFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

function exitCode(error: unknown): number {
  if (error instanceof UsageError || error instanceof InvalidInputError) return 2
  if (error instanceof DamagedFileError || error instanceof DamageFoundError) return EXIT_DAMAGED
  return error instanceof FolderInUseError ? EXIT_IN_USE : 1
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ConnbookError) return error.message
  // What the system says of a disk or a file is a line in itself; Node's own codes tell of a fault in the program.
  const isSystemError = /^E[A-Z0-9]+$/.test(systemCode(error) ?? '')
  return isSystemError ? `Cannot go on: ${error.message}` : String(error.stack)
}

// Whatever is made here is nobody else's business.
process.umask(0o077)
// Who prints hears of a failure; without a listener here it would end the process besides.
process.stdout.on('error', () => {})
// There is nobody left to tell.
process.stderr.on('error', () => {})
main(process.argv.slice(2))
  .catch((error: unknown) => throwExplained(error))
  .then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`connbook: ${describe(error)}\n`)
      process.exit(exitCode(error))
    },
  )
