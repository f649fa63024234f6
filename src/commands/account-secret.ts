import type { AccountKind } from '../auth/accounts.ts'
import { hashPassword } from '../auth/password.ts'
import { digestSecret, generateSecret } from '../auth/secret.ts'
import type { CommandContext } from '../command-line/command.ts'
import { readPassword } from '../command-line/terminal.ts'
import { UsageError } from '../errors.ts'
import { CHOSEN_SECRET_CHARACTERS_MIN } from '../limits.ts'

export interface NewSecret {
  /** For the accounts file. */
  readonly stored: string
  /** Lines for standard output. */
  readonly shown: readonly string[]
  /** Whether those lines have a secret that nobody knows yet. */
  readonly isGenerated: boolean
}

/**
 * Reads a user's password, or a client's secret if it is chosen; otherwise generates the secret, which is shown only now.
 *
 * @throws {UsageError} for what `readPassword` refuses, and for a chosen secret that is easy to guess.
 */
export async function newSecret(
  kind: AccountKind,
  name: string,
  isChosen: boolean,
  context: CommandContext,
): Promise<NewSecret> {
  if (kind === 'user') {
    const password = await readPassword('password', `Password for "${name}"`, context)
    return { stored: await hashPassword(password), shown: [], isGenerated: false }
  }
  const id = `client_id: ${name}`
  if (isChosen) {
    const secret = await readPassword('secret', `Secret of "${name}"`, context)
    checkChosen(secret, name)
    return { stored: await hashPassword(secret), shown: [id], isGenerated: false }
  }
  const secret = generateSecret()
  return { stored: digestSecret(secret), shown: [id, `client_secret: ${secret}`], isGenerated: true }
}

function checkChosen(secret: string, name: string): void {
  if ([...secret].length < CHOSEN_SECRET_CHARACTERS_MIN)
    throw new UsageError(
      `Cannot use the secret: it is shorter than ${CHOSEN_SECRET_CHARACTERS_MIN} characters; choose a longer one`,
    )
  if (secret === name)
    throw new UsageError('Cannot use the secret: it is the id of the client; choose another')
}
