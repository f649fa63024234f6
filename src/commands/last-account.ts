import { accountsDocument } from '../auth/accounts-file.ts'
import { addingCommand, findMissingAccess } from '../auth/missing-accounts.ts'
import type { CommandContext } from '../command-line/command.ts'
import type { DataPaths } from '../files/data-folder.ts'

const warnings = {
  log_in: 'there is no user and no client any more, so nobody can log in',
  change: 'every account is read-only now, so nobody can change records',
}

/** Warns on standard error when a command has taken the last account that can log in, or change records. */
export async function warnOfLastAccount(folder: DataPaths, { screen }: CommandContext): Promise<void> {
  const accounts = await accountsDocument(folder).read()
  const missing = accounts && findMissingAccess(accounts)
  if (missing === undefined) return
  screen.write(`connbook: Warning: ${warnings[missing]}; add an account: ${addingCommand(folder)}\n`)
}
