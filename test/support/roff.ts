/** The text of roff without its marks and escapes. */
export function unescapeRoff(roff: string): string {
  return roff
    .replaceAll(/\\f[BIR]|\\:|\\&/g, '')
    .replaceAll('\\-', '-')
    .replaceAll('\\(aq', "'")
    .replaceAll('\\(ti', '~')
    .replaceAll('\\(dq', '"')
}
