/** A word that is being typed. */
export interface TypedWord {
  /** What the shell makes of it. */
  readonly text: string
  /** The quote that is still open; empty if none is. */
  readonly quote: '' | '"' | "'"
  /** How much of `text` bash keeps when it completes; the rest is replaced. */
  readonly keptLength: number
}

const UNQUOTED_SPECIAL = /[^\p{L}\p{N}_%+,./:@=-]/gu
const DOUBLE_QUOTED_SPECIAL = /["$`\\]/g

export interface TypedLine {
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
