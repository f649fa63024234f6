import { fstatSync, writeSync } from 'node:fs'
import { runAccountsCommand } from './cli/accounts.ts'
import { runBackupCommand } from './cli/backup.ts'
import { DamageFoundError, runCheckCommand } from './cli/check.ts'
import { runExportCommand } from './cli/export.ts'
import { help } from './cli/help.ts'
import { runImportCommand } from './cli/import.ts'
import { runKeysCommand } from './cli/keys.ts'
import { OutputError } from './cli/output.ts'
import { runRestoreCommand } from './cli/restore.ts'
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
  const [command, ...args] = words
  if (asksForHelp(words)) await inform(help())
  else if (command === 'help' || command === '--version') {
    if (args.length > 0) throw new UsageError(`Write it as: connbook ${command}`)
    await inform(command === 'help' ? help() : `connbook ${version}\n`)
  } else if (command === 'user' || command === 'client') {
    await runAccountsCommand(command, args, process.env, print)
  } else if (command === 'keys') await runKeysCommand(args, process.env, print)
  else if (command === 'backup') await runBackupCommand(args, process.env, print)
  else if (command === 'check') await runCheckCommand(args, process.env, print)
  else if (command === 'export') await runExportCommand(args, process.env, print)
  else if (command === 'import') await runImportCommand(args, process.env, print)
  else if (command === 'restore') await runRestoreCommand(args, process.env, print)
  else if (command === 'serve') await serve(args, process.env)
  else if (command === undefined || command.startsWith('-')) await serve(words, process.env)
  else throw new UsageError(`Unknown command "${command}"; see connbook help`)
}

/** Behind `--` stand names. */
function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end === -1 ? undefined : end).some((word) => word === '--help' || word === '-h')
}

/** Prints what nobody misses when the reader of the pipe has gone. */
async function inform(text: string): Promise<void> {
  await print(text).catch((error: unknown) => {
    if (systemCode(error) === 'EPIPE') return
    throw new OutputError(`Cannot write to standard output (${systemCode(error)})`, { cause: error })
  })
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
