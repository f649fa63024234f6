import { Readable } from 'node:stream'
import { OpenedBooks } from '../../src/command-line/opened-books.ts'
import { terminalStyleOf } from '../../src/command-line/terminal-style.ts'
import { runProgram } from '../../src/commands/program.ts'
import { writtenTo } from '../../src/text.ts'
import type { Finished } from './executable.ts'

// As src/main.ts does, so that files get the modes that they have in practice.
process.umask(0o077)

/**
 * Runs a command line in this process, otherwise as the executable does.
 *
 * @param input Standard input.
 * @param outputError The code of the error with which standard output fails: `ENOSPC` for a full disk, `EPIPE` for a reader
 *   that has gone.
 * @param onOutput Is given all of standard output so far, each time that there is more; printing fails with what it
 *   throws.
 * @param openInput Makes standard input from `input` each time that a command opens it.
 * @param isTerminal Whether standard output is a terminal.
 * @param isScreenTerminal Whether standard error is one; by default as standard output.
 * @param columns Its width; without it, it does not report one.
 */
export async function runCommand(
  args: readonly string[],
  {
    input = '',
    environment = {},
    outputError,
    onOutput,
    isTerminal = false,
    isScreenTerminal = isTerminal,
    columns,
    openInput = (bytes) => Readable.from([bytes], { objectMode: false }),
  }: {
    input?: string | Uint8Array
    environment?: NodeJS.ProcessEnv
    outputError?: 'ENOSPC' | 'EPIPE' | undefined
    onOutput?: (stdout: string) => void
    isTerminal?: boolean
    isScreenTerminal?: boolean
    columns?: number
    openInput?: (bytes: Buffer) => Readable
  } = {},
): Promise<Finished> {
  let stdout = ''
  let stderr = ''
  const decoder = new TextDecoder()
  const opened = new OpenedBooks()
  const code = await runProgram(args, {
    environment,
    get input() {
      return openInput(Buffer.from(input))
    },
    print: opened.letGoBefore(async (text) => {
      if (outputError !== undefined) throw Object.assign(new Error(outputError), { code: outputError })
      const written = writtenTo({ isTTY: isTerminal }, text)
      stdout += typeof written === 'string' ? written : decoder.decode(written, { stream: true })
      onOutput?.(stdout)
    }),
    style: terminalStyleOf({ isTTY: isTerminal, ...(columns === undefined ? {} : { columns }) }, environment),
    screen: {
      isTTY: isScreenTerminal,
      write: (text) => (stderr += writtenTo({ isTTY: isScreenTerminal }, text)),
      draw: (text) => (stderr += text),
    },
    opened,
  })
  return { code, stdout, stderr }
}
