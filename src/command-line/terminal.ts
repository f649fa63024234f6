import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { checkSecret, readSecret } from '../auth/secret.ts'
import { ConnbookError, UsageError } from '../errors.ts'
import type { CommandContext } from './command.ts'

/**
 * Reads a password or a secret: on a terminal, asks twice without echo; otherwise reads all of standard input, as a
 * bare line.
 *
 * @param what Its name in messages.
 * @throws {UsageError} if it is empty, too long or not UTF-8, or if the two differ.
 */
export async function readPassword(
  what: 'password' | 'secret',
  question: string,
  context: CommandContext,
): Promise<string> {
  if (context.input.isTTY !== true) return checkPassword(what, await readSecret(`the ${what}`, context.input))
  const password = checkPassword(what, await ask(what, `${question}: `, context))
  if ((await ask(what, 'Repeat it: ', context)) !== password)
    throw new UsageError(`The two ${what}s differ; nothing has changed`)
  return password
}

/**
 * Reads the password of a login: on a terminal, asks once without echo; otherwise reads the first line of standard input.
 *
 * @throws {UsageError} if it is empty, too long or not UTF-8.
 */
export async function readLoginPassword(question: string, context: CommandContext): Promise<string> {
  if (context.input.isTTY === true)
    return checkPassword('password', await ask('password', `${question}: `, context))
  const lines = createInterface({ input: context.input, terminal: false })
  for await (const line of lines) return checkPassword('password', checkSecret('the password', line))
  return checkPassword('password', '')
}

/** Asks for a line on the terminal, with echo. @throws {UsageError} if there is no terminal, or nothing was typed. */
export async function readLine(
  what: string,
  question: string,
  { input, screen }: CommandContext,
): Promise<string> {
  if (input.isTTY !== true)
    throw new UsageError(`There is no terminal to ask for the ${what} on; give it as a flag`)
  const terminal = createInterface({ input, output: toScreen(screen), terminal: true })
  try {
    const line = await terminal.question(`${question}: `)
    if (line !== '') return line
  } catch (error) {
    if (!isAborted(error)) throw error
    screen.write('\n')
  } finally {
    terminal.close()
  }
  throw new UsageError(`No ${what} was typed; nothing has changed`)
}

/** The answer to a question was a no. */
export class NotAgreedError extends ConnbookError {
  readonly code = 'not_agreed'

  constructor() {
    super('You did not agree; nothing has changed')
  }
}

/** @throws {UsageError} without a terminal to ask on. */
export function checkCanAsk({ input }: Pick<CommandContext, 'input'>): void {
  if (input.isTTY !== true)
    throw new UsageError('There is no terminal to ask on; nothing has changed; if you are sure, add --yes')
}

/** As `agrees`. @throws {UsageError} for a no, too. */
export async function confirm(question: string, context: CommandContext): Promise<void> {
  if (!(await agrees(question, context))) throw new UsageError(new NotAgreedError().message)
}

/**
 * Asks a question on the terminal; only "y" or "yes" agrees.
 *
 * @throws {UsageError} if there is no terminal to ask on.
 */
export async function agrees(question: string, context: CommandContext): Promise<boolean> {
  checkCanAsk(context)
  const { input, screen } = context
  const terminal = createInterface({ input, output: toScreen(screen), terminal: true })
  try {
    const answer = await terminal.question(`${question} [y/N] `)
    return /^y(es)?$/i.test(answer.trim())
  } catch (error) {
    if (!isAborted(error)) throw error
    screen.write('\n')
    return false
  } finally {
    terminal.close()
  }
}

function toScreen(screen: CommandContext['screen']) {
  return new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      screen.write(text)
      done()
    },
  })
}

function checkPassword(what: string, password: string): string {
  if (password === '') throw new UsageError(`The ${what} is empty; type one, or send it on standard input`)
  return password
}

async function ask(what: string, question: string, { input, screen }: CommandContext): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input, output: silent, terminal: true })
  screen.write(question)
  try {
    return checkSecret(`the ${what}`, await terminal.question(''))
  } catch (error) {
    if (isAborted(error)) throw new UsageError(`No ${what} was typed; nothing has changed`)
    throw error
  } finally {
    terminal.close()
    screen.write('\n')
  }
}

/** Ctrl-C and Ctrl-D close the interface, which rejects with an AbortError. */
function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
