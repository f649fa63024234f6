import { runAccountsCommand } from './cli/accounts.ts'
import { help } from './cli/help.ts'
import { serve } from './cli/serve.ts'
import { ConnbookError, DamagedFileError, FolderInUseError, InvalidInputError, UsageError } from './errors.ts'
import { version } from './version.ts'

// sysexits.h has names for these: EX_DATAERR and EX_TEMPFAIL.
const EXIT_DAMAGED = 65
const EXIT_IN_USE = 75

async function main([command, ...args]: readonly string[]): Promise<void> {
  if (command === 'help' || command === '--help' || command === '-h') process.stdout.write(help())
  else if (command === '--version') process.stdout.write(`connbook ${version}\n`)
  else if (command === 'user' || command === 'client') {
    await runAccountsCommand(command, args, process.env, (line) => process.stdout.write(`${line}\n`))
  } else if (command === 'serve') await serve(args, process.env)
  else if (command === undefined || command.startsWith('-')) await serve(process.argv.slice(2), process.env)
  else throw new UsageError(`Unknown command "${command}"; see connbook help`)
}

function exitCode(error: unknown): number {
  if (error instanceof UsageError || error instanceof InvalidInputError) return 2
  if (error instanceof DamagedFileError) return EXIT_DAMAGED
  return error instanceof FolderInUseError ? EXIT_IN_USE : 1
}

// Whatever is made here is nobody else's business.
process.umask(0o077)
// When the reader of a pipe has gone there is nobody left to tell.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    const isForeseen = error instanceof ConnbookError || !(error instanceof Error)
    process.stderr.write(
      `connbook: ${isForeseen ? String(error instanceof Error ? error.message : error) : error.stack}\n`,
    )
    process.exit(exitCode(error))
  },
)
