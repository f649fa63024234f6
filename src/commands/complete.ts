import { listPath } from '../client/paths.ts'
import { clientVariables } from '../client/variables.ts'
import { type CommandContext, defineCommand } from '../command-line/command.ts'
import { parseCommandLine } from '../command-line/command-line.ts'
import { type Completion, completionOf } from '../command-line/completion.ts'
import { inform } from '../command-line/output.ts'
import { spellForBash, splitTyped, type TypedWord } from '../command-line/shell-words.ts'
import { linesOf } from '../command-line/streamed-table.ts'
import { ConnbookError } from '../errors.ts'
import { isObject } from '../json.ts'
import { COMPLETION_MS, PAGE_RECORDS_MAX } from '../limits.ts'
import { escapeHidden } from '../text.ts'
import { commands } from './commands.ts'
import { connect } from './remote/connect.ts'

/**
 * Answers the scripts of `connbook completion`, so it is not in the table of commands: `files`, or `words` and a word a line. What cannot be told yields no words,
 * and never a question or an error.
 *
 * For bash the operands are `bash`, its COMP_WORDBREAKS, and the line up to the cursor; for others the shell, and the words
 * behind `connbook` up to the one that is being typed.
 */
export const completeCommand = defineCommand({
  name: 'complete',
  operands: 'SHELL',
  operandsMax: Number.POSITIVE_INFINITY,
  summary: 'answer the script of a shell',
  examples: [],
  flags: [],
  async run({ operands }, context) {
    const [shell, ...rest] = operands
    const [breaks = '', line = ''] = rest
    const typed = shell === 'bash' ? splitTyped(line, breaks) : undefined
    const words = typed === undefined ? rest.slice(0, -1) : typed.words.slice(1)
    const last: TypedWord = typed?.last ?? { text: rest.at(-1) ?? '', quote: '', keptLength: 0 }
    const completion = completionOf(commands, words, last.text)
    if (completion.kind === 'files' || typed?.isRedirection)
      return void (await inform(context.print, 'files\n'))
    const found =
      completion.kind === 'words' ? completion.words : await namesOf(completion, last.text, context)
    const fitting = found.filter((word) => word.startsWith(last.text))
    const spelled = shell === 'bash' ? fitting.map((word) => spellForBash(word, last)) : fitting
    await inform(context.print, linesOf(['words', ...spelled]))
  },
})

/** The names of records that begin so: the first ones, and the last one, so that a shell finds what all have in common. */
async function namesOf(
  { command, words, areFlagsOver }: Extract<Completion, { kind: 'records' }>,
  prefix: string,
  { environment }: CommandContext,
): Promise<string[]> {
  const signal = AbortSignal.timeout(limitMs(environment))
  try {
    const expanded = words.map((word) => expandHome(word, environment))
    const input = parseCommandLine(expanded, environment, command.flags)
    const options = { ...input.options, noRetry: true }
    const client = await connect({ ...input, options }, { environment }, 'complete')
    const ask = async (sort: string, count: number) => {
      const query = { prefix: prefix === '' ? undefined : prefix, sort, page: 0, per_page: count }
      return namesIn(await client.askJson({ method: 'GET', path: listPath(query) }, signal))
    }
    const [first, last] = await Promise.all([ask('name', PAGE_RECORDS_MAX), ask('-name', 1)])
    // Neither what a terminal would not show as it is, nor what would be taken for a flag.
    const isOffered = (name: string) => escapeHidden(name) === name && (areFlagsOver || !name.startsWith('-'))
    const names = [...new Set([...first, ...last])].filter(isOffered)
    // A shell takes a name that is alone; here others may stand before it.
    return first.length === PAGE_RECORDS_MAX && names.length === 1 ? [] : names
  } catch (error) {
    if (error instanceof ConnbookError) return []
    throw error
  }
}

/** COMPLETION_MS, unless the variable says otherwise. */
function limitMs({ [clientVariables.completionMs]: text = '' }: NodeJS.ProcessEnv): number {
  return /^[1-9]\d{0,4}$/.test(text) ? Number(text) : COMPLETION_MS
}

/** As a shell will do when the line is run. */
function expandHome(word: string, { HOME }: NodeJS.ProcessEnv): string {
  return HOME !== undefined && word.startsWith('~/') ? HOME + word.slice(1) : word
}

function namesIn(answered: unknown): string[] {
  const records = isObject(answered) && Array.isArray(answered.configurations) ? answered.configurations : []
  return records.flatMap((record: unknown) =>
    isObject(record) && typeof record.name === 'string' ? record.name : [],
  )
}
