/**
 * The certificates of authorities that a client trusts: those of the system, of Node, and more.
 *
 * @param more PEM texts.
 */
export function trustedAuthorities(more: readonly string[]): string[] {
  const { getCACertificates } = process.getBuiltinModule('node:tls')
  return [...new Set([...getCACertificates('default'), ...getCACertificates('system'), ...more])]
}
