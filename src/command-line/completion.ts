import { chapters } from '../manual/chapters.ts'
import { type Command, firstWordOf, verbOf, verbsOf } from './command.ts'
import { describeFlags, type FlagDescription } from './options.ts'

/** What can stand at a place of a command line. */
export type Completion =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'files' }
  /** Names of records. */
  | {
      readonly kind: 'records'
      readonly command: Command
      readonly words: readonly string[]
      /** Whether a name may begin with `-`; then it is not taken for a flag. */
      readonly areFlagsOver: boolean
    }

export const shells = ['bash', 'zsh', 'fish'] as const

const nothing: Completion = { kind: 'words', words: [] }

/** Placeholders of values that are paths. */
const PATH = /\b(?:FILE|FOLDER|PATH)\b/

/**
 * What can be typed next, from the table of commands alone.
 *
 * @param words Behind `connbook`, complete.
 * @param last The word that is being typed.
 */
export function completionOf(
  commands: readonly Command[],
  words: readonly string[],
  last: string,
): Completion {
  const [first = last, ...rest] = words
  const isOfServer = first.startsWith('-')
  if (words.length === 0 && !isOfServer) return wordsOf(commands.map(({ name }) => firstWordOf(name)))
  const family = commands.filter(({ name }) => firstWordOf(name) === (isOfServer ? 'serve' : first))
  const [only] = family
  if (only === undefined) return nothing
  const isAlone = verbOf(only) === undefined
  const command = isAlone ? only : family.find((each) => verbOf(each) === rest[0])
  if (command === undefined) return rest.length === 0 ? wordsOf(verbsOf(family)) : nothing
  const completion = inCommand(command, isOfServer ? words : rest.slice(isAlone ? 0 : 1), last, commands)
  return words.length === 0 && completion.kind === 'words'
    ? wordsOf([...completion.words, '--version'])
    : completion
}

function inCommand(
  command: Command,
  words: readonly string[],
  last: string,
  commands: readonly Command[],
): Completion {
  const flags = describeFlags(command.flags)
  const flagOf = (word: string) => flags.find(({ usage }) => firstWordOf(usage) === word)
  const operands: string[] = []
  let areFlagsOver = false
  let unvalued: FlagDescription | undefined
  for (const word of words) {
    if (unvalued !== undefined) unvalued = undefined
    else if (areFlagsOver || !word.startsWith('-') || word === '-') {
      operands.push(word)
      areFlagsOver ||= command.passesOn === true
    } else if (word === '--') areFlagsOver = true
    else if (placeholderOf(flagOf(word)) !== undefined) unvalued = flagOf(word)
  }
  if (unvalued !== undefined) return valuesOf(unvalued, '')
  if (areFlagsOver || !last.startsWith('-'))
    return operandOf(command, words, operands, areFlagsOver, commands)
  const [name = ''] = last.split('=', 1)
  const valued = last.includes('=') ? flagOf(name) : undefined
  if (valued !== undefined) return valuesOf(valued, `${name}=`)
  const left = flags.filter(({ usage, isList }) => isList || !words.includes(firstWordOf(usage)))
  return wordsOf([...left.map(({ usage }) => firstWordOf(usage)), '--help'])
}

/** @param operands Those that are complete. */
function operandOf(
  command: Command,
  words: readonly string[],
  operands: readonly string[],
  areFlagsOver: boolean,
  commands: readonly Command[],
): Completion {
  const [first] = operands
  if (operands.length >= (command.operandsMax ?? 1)) return nothing
  if (command.passesOn === true && first !== undefined) return { kind: 'files' }
  switch (command.completes) {
    case 'records':
      return { kind: 'records', command, words, areFlagsOver }
    case 'files':
      return { kind: 'files' }
    case 'topics':
      if (first !== undefined)
        return wordsOf(verbsOf(commands.filter(({ name }) => firstWordOf(name) === first)))
      return wordsOf([...commands.map(({ name }) => firstWordOf(name)), ...chapters.map(({ name }) => name)])
    default:
      return wordsOf(command.completes ?? [])
  }
}

/** The placeholder of the value of a flag; undefined for a switch. */
function placeholderOf(flag: FlagDescription | undefined): string | undefined {
  return flag?.usage.split(' ')[1]
}

function valuesOf(flag: FlagDescription, start: string): Completion {
  if (flag.choices.length > 0) return wordsOf(flag.choices.map((choice) => start + choice))
  return PATH.test(placeholderOf(flag) ?? '') ? { kind: 'files' } : nothing
}

function wordsOf(words: readonly string[]): Completion {
  return { kind: 'words', words: [...new Set(words)] }
}
