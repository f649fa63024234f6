/**
 * A command line as `ExecStart=` of a unit takes it, each word as it is (systemd.service(5), "Command lines").
 *
 * @param words Without control characters; the first is the path of the program.
 */
export function quoteCommandLine([program = '', ...args]: readonly string[]): string {
  // Variables are put into arguments, but not into the path of the program.
  return [program, ...args.map((word) => word.replaceAll('$', '$$$$'))].map(quoteWord).join(' ')
}

/** A word of a setting that takes several (systemd.syntax(7), "Quoting"). */
export function quoteWord(word: string): string {
  const text = escapeSpecifiers(word)
  return /^[\w%$@:,./=+~-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** So that systemd does not put the name of the unit, the host and so on in their place (systemd.unit(5)). */
export function escapeSpecifiers(text: string): string {
  return text.replaceAll('%', '%%')
}
