import type { CredentialStorage } from '../auth/credential-storage.ts'
import { findMissingAccess } from '../auth/missing-accounts.ts'
import type { CommandContext } from '../command-line/command.ts'

const warnings = {
  log_in: 'there is no user and no client any more, so nobody can log in',
  change: 'every account is read-only now, so nobody can change records',
}

/** Warns on standard error when a command has taken the last account that can log in, or change records. */
export async function warnOfLastAccount(
  { accounts, addingCommand }: CredentialStorage,
  { screen }: CommandContext,
): Promise<void> {
  const missing = findMissingAccess(await accounts.read())
  if (missing === undefined) return
  screen.write(`connbook: Warning: ${warnings[missing]}; add an account: ${addingCommand}\n`)
}
