/** Case, spaces, `_` and `-` do not matter. */
export function plainName(column: string): string {
  return column.toLowerCase().replace(/[\s_-]+/g, '')
}

/** Whether the values of a column, or of a variable, are a secret, as its name says. */
export function isSecret(column: string): boolean {
  if (/password|passwd|secret|passphrase|privatekey|token/.test(plainName(column))) return true
  const words = column
    .replace(/([\p{Ll}\d])(?=\p{Lu})/gu, '$1 ')
    .toLowerCase()
    .split(/[^\p{L}]+/u)
  return words.some((word) => /^(?:pass|pwd|credentials?)$/.test(word))
}

/** The key of the label that a column or a variable becomes; still to be checked. Letters lose their marks. */
export function labelKeyOf(name: string): string {
  return name
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9._/-]/gu, '-')
}
