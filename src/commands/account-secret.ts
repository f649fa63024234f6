import type { AccountKind } from '../auth/accounts.ts'
import { faultOfChosen } from '../auth/chosen-secret.ts'
import { hashPassword } from '../auth/password.ts'
import { digestSecret, generateSecret } from '../auth/secret.ts'
import type { CommandContext } from '../command-line/command.ts'
import { readPassword } from '../command-line/terminal.ts'
import { UsageError } from '../errors.ts'

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
 * @throws {UsageError} for what `readPassword` refuses, and for what is easy to guess.
 */
export async function newSecret(
  kind: AccountKind,
  name: string,
  isChosen: boolean,
  context: CommandContext,
): Promise<NewSecret> {
  if (kind === 'user') {
    const password = await readPassword('password', `Password for "${name}"`, context)
    checkChosen(kind, password, name)
    return { stored: await hashPassword(password), shown: [], isGenerated: false }
  }
  const id = `client_id: ${name}`
  if (isChosen) {
    const secret = await readPassword('secret', `Secret of "${name}"`, context)
    checkChosen(kind, secret, name)
    return { stored: await hashPassword(secret), shown: [id], isGenerated: false }
  }
  const secret = generateSecret()
  return { stored: digestSecret(secret), shown: [id, `client_secret: ${secret}`], isGenerated: true }
}

function checkChosen(kind: AccountKind, secret: string, name: string): void {
  const fault = faultOfChosen(kind, secret, name)
  const what = kind === 'user' ? 'password' : 'secret'
  if (fault !== undefined) throw new UsageError(`Cannot use the ${what}: it ${fault}`)
}
