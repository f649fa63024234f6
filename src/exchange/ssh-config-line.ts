/** A line of ssh_config(5) that says something. */
export interface SshLine {
  readonly keyword: string
  /** Undefined when a quote has no end. */
  readonly words: readonly string[] | undefined
}

/** @returns Undefined for a blank line or a comment. */
export function parseSshLine(text: string): SshLine | undefined {
  const bare = trimmed(text)
  if (bare === '' || bare.startsWith('#')) return undefined
  const [, keyword = '', rest = ''] = /^([^ \t=]*)(?:[ \t]*=[ \t]*|[ \t]+)?(.*)$/su.exec(bare) ?? []
  return { keyword, words: splitWords(rest) }
}

/** Splits arguments as OpenSSH does since 8.7; undefined when a quote has no end. */
function splitWords(text: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    const next = text.charAt(at + 1)
    if (character === '\\' && (`'"\\`.includes(next || '-') || (quote === '' && next === ' '))) {
      word = (word ?? '') + next
      at += 1
    } else if (quote === '' && (character === ' ' || character === '\t')) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (quote === '' && character === '#' && word === undefined) break
    else if (quote === '' && (character === '"' || character === "'")) {
      quote = character
      word ??= ''
    } else if (character === quote) quote = ''
    else word = (word ?? '') + character
  }
  if (quote !== '') return undefined
  return word === undefined ? words : [...words, word]
}

/** Without blanks at both ends. No expression: it would look at each run of blanks again from each of its places. */
function trimmed(line: string): string {
  let end = line.length
  while (end > 0 && ' \t\r\f'.includes(line.charAt(end - 1))) end -= 1
  return line.slice(0, end).replace(/^[ \t]+/, '')
}
