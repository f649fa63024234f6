import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { checkSecret, readSecret } from '../auth/secret.ts'
import { ConnbookError, UsageError } from '../errors.ts'
import { forTerminal } from '../text.ts'
import type { CommandContext } from './command.ts'

/**
 * Reads a password or a secret: on a terminal, asks twice without echo; otherwise reads all of standard input, as a
 * bare line.
 *
 * @param what Its name in messages.
 * @throws {UsageError} if it is empty, too long or not UTF-8, or if the two differ. {InterruptedError} after Ctrl-C.
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
export async function readLine(what: string, question: string, context: CommandContext): Promise<string> {
  if (context.input.isTTY !== true)
    throw new UsageError(`There is no terminal to ask for the ${what} on; give it as a flag`)
  const line = await answerTo(`${question}: `, context)
  if (line !== undefined && line !== '') return line
  throw new UsageError(`No ${what} was typed; nothing has changed`)
}

/** Ctrl-C at a question: the exit code is that of the signal, which a terminal does not send while a line is read. */
export class InterruptedError extends ConnbookError {
  readonly code = 'interrupted'

  constructor() {
    super('Interrupted at the question; nothing has changed')
  }
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
  const answer = (await answerTo(`${question} [y/N] `, context)) ?? ''
  return /^y(es)?$/i.test(answer.trim())
}

/**
 * Asks on the terminal, with echo.
 *
 * @returns Undefined after Ctrl-D.
 * @throws {InterruptedError} after Ctrl-C.
 */
async function answerTo(question: string, { input, screen }: CommandContext): Promise<string | undefined> {
  const endLine = () => screen.write('\n')
  const ask = (terminal: Interface, signal: AbortSignal) =>
    terminal.question(forTerminal(question), { signal })
  const answer = await typedLine(input, toScreen(screen), ask, endLine)
  if (answer === undefined) endLine()
  return answer
}

/**
 * Reads a line from the terminal, which echoes nothing by itself from before `ask` is called.
 *
 * @param onInterrupt Is called after Ctrl-C, before this throws.
 */
async function typedLine(
  input: CommandContext['input'],
  output: Writable,
  ask: (terminal: Interface, signal: AbortSignal) => Promise<string>,
  onInterrupt: () => void = () => {},
): Promise<string | undefined> {
  const terminal = createInterface({ input, output, terminal: true })
  const interruption = new AbortController()
  terminal.once('SIGINT', () => interruption.abort())
  try {
    return await ask(terminal, interruption.signal)
  } catch (error) {
    if (!isAborted(error)) throw error
    if (!interruption.signal.aborted) return undefined
    onInterrupt()
    throw new InterruptedError()
  } finally {
    terminal.close()
  }
}

function toScreen(screen: CommandContext['screen']) {
  return new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      screen.draw(text)
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
  try {
    const line = await typedLine(input, silent, (terminal, signal) => {
      screen.write(question)
      return terminal.question('', { signal })
    })
    if (line !== undefined) return checkSecret(`the ${what}`, line)
    throw new UsageError(`No ${what} was typed; nothing has changed`)
  } finally {
    screen.write('\n')
  }
}

/** A closed interface rejects with an AbortError. */
function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
