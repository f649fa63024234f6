/**
 * Quotes a command line for `ExecStart=` (systemd.service(5), "Command lines").
 *
 * @param words Without control characters; the first is the path of the program.
 */
export function quoteCommandLine([program = '', ...args]: readonly string[]): string {
  // systemd expands variables in arguments, but not in the path of the program.
  return [program, ...args.map((word) => word.replaceAll('$', '$$$$'))].map(quoteWord).join(' ')
}

/** Quotes a word of a list (systemd.syntax(7), "Quoting"). */
export function quoteWord(word: string): string {
  const text = escapeSpecifiers(word)
  return /^[\w%$@:,./=+~-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** Escapes `%`, which begins a specifier (systemd.unit(5), "Specifiers"). */
export function escapeSpecifiers(text: string): string {
  return text.replaceAll('%', '%%')
}
