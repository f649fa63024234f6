import { chapters } from '../manual/chapters.ts'
import { type Command, firstWordOf, verbOf, verbsOf } from './command.ts'
import { describeFlags, type FlagDescription } from './options.ts'

/** What can stand at a place of a command line. */
export type Completion =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'files' }
  /** Names of records that begin so. */
  | { readonly kind: 'records'; readonly command: Command; readonly words: readonly string[] }

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
  const [first, ...rest] = words
  if (first === undefined)
    return wordsOf([...commands.map(({ name }) => firstWordOf(name)), '--version', '--help'])
  const family = commands.filter(
    ({ name }) => firstWordOf(name) === (first.startsWith('-') ? 'serve' : first),
  )
  const [only] = family
  if (only === undefined) return nothing
  const isAlone = verbOf(only) === undefined
  const command = isAlone ? only : family.find((each) => verbOf(each) === rest[0])
  if (command === undefined) return rest.length === 0 ? wordsOf(verbsOf(family)) : nothing
  return inCommand(command, first.startsWith('-') ? words : rest.slice(isAlone ? 0 : 1), last, commands)
}

function inCommand(
  command: Command,
  words: readonly string[],
  last: string,
  commands: readonly Command[],
): Completion {
  const flags = describeFlags(command.flags)
  const flagOf = (word: string | undefined) => flags.find(({ usage }) => firstWordOf(usage) === word)
  const takesNext = (word: string | undefined) => placeholderOf(flagOf(word)) !== undefined
  const areFlagsOver = words.some((word, i) => {
    const isOperand = !word.startsWith('-') && !takesNext(words[i - 1])
    return word === '--' || (command.passesOn === true && isOperand)
  })
  if (areFlagsOver)
    return command.passesOn === true ? { kind: 'files' } : operandsOf(command, words, commands)
  const before = flagOf(words.at(-1))
  if (before !== undefined && takesNext(words.at(-1))) return valuesOf(before, '')
  const [name] = last.split('=', 1)
  const typed = last.includes('=') ? flagOf(name) : undefined
  if (typed !== undefined) return valuesOf(typed, `${name}=`)
  if (last.startsWith('-')) {
    const left = flags.filter(({ usage, isList }) => isList || !words.includes(firstWordOf(usage)))
    return wordsOf([...left.map(({ usage }) => firstWordOf(usage)), '--help'])
  }
  return operandsOf(command, words, commands)
}

function operandsOf(command: Command, words: readonly string[], commands: readonly Command[]): Completion {
  switch (command.completes) {
    case 'records':
      return { kind: 'records', command, words }
    case 'files':
      return { kind: 'files' }
    case 'topics':
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
