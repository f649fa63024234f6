/** A word that is being typed. */
export interface TypedWord {
  /** What the shell makes of it. */
  readonly text: string
  /** The quote that is still open; empty if none is. */
  readonly quote: '' | '"' | "'"
}

const UNQUOTED_SPECIAL = /[^\p{L}\p{N}_%+,./:@=-]/gu
const DOUBLE_QUOTED_SPECIAL = /["$`\\]/g

/**
 * Splits the beginning of a command line as a POSIX shell does, without running or expanding anything: `$x` stays `$x`.
 *
 * @returns The words that are complete, and the one at the end, which may be empty.
 */
export function splitTyped(line: string): { readonly words: readonly string[]; readonly last: TypedWord } {
  const words: string[] = []
  let text: string | undefined
  let quote: TypedWord['quote'] = ''
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at)
    if (quote !== '') {
      const isEscape = quote === '"' && character === '\\' && /["$`\\]/.test(line.charAt(at + 1))
      if (character === quote) quote = ''
      else if (isEscape) text = (text ?? '') + line.charAt(++at)
      else text = (text ?? '') + character
    } else if (character === '"' || character === "'") {
      quote = character
      text ??= ''
    } else if (character === '\\') text = (text ?? '') + line.charAt(++at)
    else if (/\s/.test(character)) {
      if (text !== undefined) words.push(text)
      text = undefined
    } else text = (text ?? '') + character
  }
  return { words, last: { text: text ?? '', quote } }
}

/**
 * Spells a word so that bash reads exactly that, when it stands where a word was begun.
 *
 * @param breaks Characters at which bash begins a new word for completion (`COMP_WORDBREAKS`): only what follows the last
 *   one that was typed is replaced.
 * @returns Undefined if it cannot be spelled there, or does not go on with what was typed.
 */
export function spellForBash(word: string, typed: TypedWord, breaks: string): string | undefined {
  if (!word.startsWith(typed.text)) return undefined
  if (typed.quote === "'") return word.includes("'") ? undefined : word
  // Inside double quotes `!` begins a history expansion, and a backslash before it stays.
  if (typed.quote === '"') return word.includes('!') ? undefined : word.replace(DOUBLE_QUOTED_SPECIAL, '\\$&')
  const start = Math.max(
    ...[':', '='].map((each) => (breaks.includes(each) ? typed.text.lastIndexOf(each) : -1)),
  )
  return word.slice(start + 1).replace(UNQUOTED_SPECIAL, '\\$&')
}
