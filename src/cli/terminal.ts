import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from '../errors.ts'
import { checkSecret, readSecret } from './secret-text.ts'

const WHAT = 'the password'

/**
 * Reads a password: on a terminal by asking twice without echo, otherwise all of standard input, of which one newline
 * at the end is dropped.
 *
 * @throws {UsageError} if it is empty, too long or not UTF-8, has more than one line, or was typed differently the second
 *   time.
 */
export async function readPassword(question: string): Promise<string> {
  if (!process.stdin.isTTY) return checkPassword(await readSecret(WHAT, process.stdin))
  const password = checkPassword(await ask(`${question}: `))
  if ((await ask('The same again: ')) !== password)
    throw new UsageError('The two passwords differ; nothing has changed')
  return password
}

function checkPassword(password: string): string {
  if (password === '') throw new UsageError('The password is empty; type one, or send it on standard input')
  if (/[\r\n]/.test(password))
    throw new UsageError('The password has more than one line; send only the password')
  return password
}

async function ask(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true })
  process.stderr.write(question)
  try {
    return checkSecret(WHAT, await terminal.question(''))
  } catch (error) {
    // Ctrl-C and Ctrl-D close the interface, and that ends the question so.
    if (error instanceof Error && error.name === 'AbortError')
      throw new UsageError('No password was typed; nothing has changed')
    throw error
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}
