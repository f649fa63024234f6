import type { Client } from '../client/client.ts'
import { clientVariables, LABELS, listPath, queryOf } from '../client/endpoint.ts'
import { linesOf } from '../command-line/columns.ts'
import { type CommandContext, defineCommand } from '../command-line/command.ts'
import { parseCommandLine } from '../command-line/command-line.ts'
import { type Completion, completionOf } from '../command-line/completion.ts'
import { inform } from '../command-line/output.ts'
import { ConnbookError, systemCode } from '../errors.ts'
import { isObject } from '../json.ts'
import { PAGE_RECORDS_MAX } from '../limits.ts'
import { escapeHidden } from '../text.ts'
import { commands } from './commands.ts'
import { connect } from './remote/connect.ts'

/** How long the completion of a shell waits for the server. */
const COMPLETION_MS = 300

const UNQUOTED_SPECIAL = /[^\p{L}\p{N}_%+,./:@=-]/gu
const DOUBLE_QUOTED_SPECIAL = /["$`\\]/g

/**
 * Answers the scripts of `connbook completion`, so it is not in the table of commands: `files`, or `words` and then one
 * word per line. What cannot be found out yields no words, and never a question or an error.
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
    const found = await wordsOf(completion, last.text, context)
    const fitting = found.filter((word) => word.startsWith(last.text))
    const spelled = shell === 'bash' ? fitting.map((word) => spellForBash(word, last)) : fitting
    await inform(context.print, linesOf(['words', ...spelled]))
  },
})

type ServerCompletion = Exclude<Completion, { kind: 'files' | 'words' }>

/** @param last What is typed of the word. */
async function wordsOf(
  completion: Exclude<Completion, { kind: 'files' }>,
  last: string,
  context: CommandContext,
): Promise<readonly string[]> {
  const { environment } = context
  if (completion.kind === 'words') return completion.words
  const { command, words } = completion
  const signal = AbortSignal.timeout(limitMs(environment))
  try {
    const expanded = words.map((word) => expandHome(word, environment))
    const input = parseCommandLine(expanded, environment, command.flags)
    const options = { ...input.options, noRetry: true }
    const client = await connect({ ...input, options }, context, 'complete', {
      isServerOnly: true,
      isNamedOnly: true,
    })
    const ask = (path: string) => client.askJson({ method: 'GET', path }, signal)
    return completion.kind === 'records'
      ? await namesOf(completion, last, ask)
      : await labelWordsOf(completion, last, ask)
  } catch (error) {
    if (error instanceof ConnbookError || systemCode(error) !== undefined) return []
    throw error
  }
}

type Ask = (path: string) => ReturnType<Client['askJson']>

/** The names of records that begin so: the first ones, and the last one, so that a shell finds what all have in common. */
async function namesOf(
  { areFlagsOver }: Extract<ServerCompletion, { kind: 'records' }>,
  prefix: string,
  ask: Ask,
): Promise<string[]> {
  const askSorted = async (sort: string, count: number) => {
    const query = { prefix: prefix === '' ? undefined : prefix, sort, page: 0, per_page: count }
    return namesIn(await ask(listPath(query)))
  }
  const [first, last] = await Promise.all([askSorted('name', PAGE_RECORDS_MAX), askSorted('-name', 1)])
  const isOffered = (name: string) => isShownAsItIs(name) && (areFlagsOver || !name.startsWith('-'))
  const names = [...new Set([...first, ...last])].filter(isOffered)
  // A shell takes a name that is alone; here others may stand before it.
  return first.length === PAGE_RECORDS_MAX && names.length === 1 ? [] : names
}

/** Keys, with `=` where a value can follow, or the values of the key that is typed; the most frequent ones. */
async function labelWordsOf(
  { form, start }: Extract<ServerCompletion, { kind: 'labels' }>,
  last: string,
  ask: Ask,
): Promise<string[]> {
  const typed = last.slice(start.length)
  const [, key = '', operator] = /^([^=]*?)(!?=)/s.exec(typed) ?? []
  if (operator === undefined) {
    const isWithout = form === 'filter' && typed.startsWith('!')
    const spelled = (key: string) => (isWithout ? `!${key}` : form === 'key' ? key : `${key}=`)
    return labelsIn(await ask(LABELS)).map(({ key }) => start + spelled(key))
  }
  if (form === 'key' || (operator === '!=' && form !== 'filter')) return []
  const found = labelsIn(await ask(LABELS + queryOf({ label: [key] }))).find((label) => label.key === key)
  return (found?.values ?? []).map((value) => start + key + operator + value)
}

/** Whether a terminal shows it as it is. */
function isShownAsItIs(text: string): boolean {
  return escapeHidden(text) === text
}

/** COMPLETION_MS, unless the variable says otherwise. */
function limitMs({ [clientVariables.completionMs]: text = '' }: NodeJS.ProcessEnv): number {
  return /^[1-9]\d{0,4}$/.test(text) ? Number(text) : COMPLETION_MS
}

/** As a shell will do when the line is run. */
function expandHome(word: string, { HOME }: NodeJS.ProcessEnv): string {
  return HOME !== undefined && word.startsWith('~/') ? HOME + word.slice(1) : word
}

/** Keys and values of labels in an answer, but for those that a terminal does not show as they are. */
function labelsIn(answered: unknown): { readonly key: string; readonly values: readonly string[] }[] {
  const listIn = (input: unknown, member: string): Record<string, unknown>[] => {
    const list = isObject(input) ? input[member] : undefined
    return Array.isArray(list) ? list.filter(isObject) : []
  }
  return listIn(answered, 'labels').flatMap((label) => {
    const { key } = label
    if (typeof key !== 'string' || !isShownAsItIs(key)) return []
    const values = listIn(label, 'values').flatMap(({ value }) => (typeof value === 'string' ? value : []))
    return { key, values: values.filter(isShownAsItIs) }
  })
}

function namesIn(answered: unknown): string[] {
  const records = isObject(answered) && Array.isArray(answered.configurations) ? answered.configurations : []
  return records.flatMap((record: unknown) =>
    isObject(record) && typeof record.name === 'string' ? record.name : [],
  )
}

/** A word that is being typed. */
interface TypedWord {
  /** What the shell makes of it. */
  readonly text: string
  /** The quote that is still open; empty if none is. */
  readonly quote: '' | '"' | "'"
  /** How much of `text` bash keeps when it completes; the rest is replaced. */
  readonly keptLength: number
}

interface TypedLine {
  /** Those that are complete. */
  readonly words: readonly string[]
  /** The one at the end, which may be empty. */
  readonly last: TypedWord
  /** Whether `last` names a file of a redirection. */
  readonly isRedirection: boolean
}

/**
 * Splits the beginning of a command line as a POSIX shell does, without running or expanding anything: `$x` stays `$x`.
 * Leaves redirections out.
 *
 * @param breaks Characters at which bash begins a new word for completion (`COMP_WORDBREAKS`), unless they are quoted.
 */
export function splitTyped(line: string, breaks = ''): TypedLine {
  const words: string[] = []
  let text: string | undefined
  let quote: TypedWord['quote'] = ''
  let quotedFrom = 0
  let brokenAt = 0
  let isRedirection = false
  const endWord = () => {
    if (text !== undefined && !isRedirection) words.push(text)
    isRedirection &&= text === undefined
    text = undefined
    brokenAt = 0
  }
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at)
    if (quote !== '') {
      const isEscape = quote === '"' && character === '\\' && /^(?:["$`\\]|$)/.test(line.charAt(at + 1))
      if (character === quote) quote = ''
      else if (isEscape) text = (text ?? '') + line.charAt(++at)
      else text = (text ?? '') + character
    } else if (character === '"' || character === "'") {
      quote = character
      text ??= ''
      quotedFrom = text.length
    } else if (character === '\\') text = (text ?? '') + line.charAt(++at)
    else if (/\s/.test(character)) endWord()
    else if (/[<>]/.test(character)) {
      // "2>", "&>": such a word is part of the operator.
      if (/^(?:\d+|&)$/.test(text ?? '')) text = undefined
      endWord()
      isRedirection = true
      if (/[&|]/.test(line.charAt(at + 1))) at++
    } else {
      // For names of hosts, readline counts "@" to the word that it begins; no other break.
      if (breaks.includes(character)) brokenAt = (text ?? '').length + (character === '@' ? 0 : 1)
      text = (text ?? '') + character
    }
  }
  const last = { text: text ?? '', quote, keptLength: quote === '' ? brokenAt : quotedFrom }
  return { words, last, isRedirection }
}

/**
 * Spells what bash is to put in place of the end of a word, so that it then reads exactly `word`.
 *
 * @param word Begins with the text of `typed`.
 */
export function spellForBash(word: string, { quote, keptLength }: TypedWord): string {
  const rest = word.slice(keptLength)
  if (quote === '') return rest.replace(UNQUOTED_SPECIAL, '\\$&')
  const spelled =
    quote === "'"
      ? rest.replaceAll("'", "'\\''")
      : // Inside double quotes `!` begins a history expansion, and a backslash before it stays.
        rest.replace(DOUBLE_QUOTED_SPECIAL, '\\$&').replaceAll('!', '"\'!\'"')
  // Readline closes the quote, unless it finds the same character before.
  return spelled === '' || spelled.endsWith(quote) ? spelled + quote : spelled
}
