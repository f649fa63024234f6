import { RefusedError } from '../client/refused.ts'
import { type CommandContext, checkOrder, getFamily, runCommand } from '../command-line/command.ts'
import type { ExitCode } from '../command-line/exit-codes.ts'
import { helpFor } from '../command-line/help.ts'
import { inform } from '../command-line/output.ts'
import { exitCodeOf, exitCodeOfAnswer } from '../error-types.ts'
import { ConnbookError, systemCode, UsageError } from '../errors.ts'
import { realFileSystem } from '../files/file-system.ts'
import { describeSystemError, throwExplained } from '../files/refusal.ts'
import { journalPriorities } from '../systemd-journal.ts'
import { escapeHidden } from '../text.ts'
import { versionLine } from '../version.ts'
import { commands } from './commands.ts'
import { completeCommand } from './complete.ts'
import { exitCodeOfCluster } from './used-cluster.ts'

/** Runs a command line and writes any error to standard error. Never rejects. @returns The exit code. */
export async function runProgram(words: readonly string[], context: CommandContext): Promise<ExitCode> {
  try {
    await dispatch(words, context).catch((error: unknown) => throwExplained(error, realFileSystem))
    return 0
  } catch (error) {
    const { screen } = context
    const priority = screen.isJournal ? journalPriorities.error : ''
    // Also in a file or a journal: somebody may show it on a terminal.
    const lines = describeError(error).split('\n').map(escapeHidden).join('\n')
    screen.write(`connbook: ${lines}\n`.replaceAll(/^(?=.)/gm, priority))
    return exitCode(error)
  } finally {
    await context.opened.letGo()
  }
}

async function dispatch(words: readonly string[], context: CommandContext): Promise<void> {
  checkUtf8(words)
  const { print, style, typed = (text) => text } = context
  const [first, ...rest] = words
  if (asksForHelp(words)) await inform(print, typed(helpFor(commands, words, style)))
  else if (first === '--version') {
    if (rest.length > 0) throw new UsageError('Write it as: connbook --version')
    await inform(print, versionLine())
  } else if (first === undefined || first.startsWith('-')) {
    checkOrder(commands, words)
    await runCommand(getFamily(commands, 'serve'), words, context)
  } else {
    const family = first === completeCommand.name ? ([completeCommand] as const) : getFamily(commands, first)
    await runCommand(family, rest, context)
  }
}

/** Node decodes the words; U+FFFD stands for bytes that were not UTF-8. @throws {UsageError} naming such a word. */
function checkUtf8(words: readonly string[]): void {
  const word = words.find((each) => each.includes('\ufffd'))
  if (word !== undefined)
    throw new UsageError(`Cannot read ${JSON.stringify(word)}: it is not UTF-8; write it in UTF-8`)
}

/** Words after `--` are operands. */
function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end === -1 ? undefined : end).some((word) => word === '--help' || word === '-h')
}

function exitCode(error: unknown): ExitCode {
  const ofCluster = exitCodeOfCluster(error)
  if (ofCluster !== undefined) return ofCluster
  if (error instanceof RefusedError) return exitCodeOfAnswer(error.problem, error.status)
  return error instanceof ConnbookError ? exitCodeOf(error.code) : 1
}

/** The message of an error, for the terminal. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof ConnbookError) return error.message
  // Errors of the system need no stack; Node's own codes (ERR_…) are bugs in the program.
  const isSystemError = /^E[A-Z0-9]+$/.test(systemCode(error) ?? '')
  return isSystemError ? describeSystemError(error) : String(error.stack)
}
