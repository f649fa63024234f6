/**
 * Splits a text into words as a POSIX shell does, as far as quotes and backslashes go: Ansible does so with what it passes
 * to ssh.
 *
 * @returns Undefined when a quote or a backslash has no end.
 */
export function shellWords(text: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (character === '\\' && quote !== "'") {
      at += 1
      if (at === text.length) return undefined
      const next = text.charAt(at)
      word = (word ?? '') + (quote === '' || '"\\'.includes(next) ? next : character + next)
    } else if (character === quote) quote = ''
    else if (quote === '' && (character === '"' || character === "'")) {
      quote = character
      word ??= ''
    } else word = (word ?? '') + character
  }
  if (quote !== '') return undefined
  return word === undefined ? words : [...words, word]
}
