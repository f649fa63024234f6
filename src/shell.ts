/** Quotes any text as one word of a POSIX shell. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** The same, without quotes around what needs none. */
export function wordForShell(text: string): string {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : quoteForShell(text)
}
