/** What OpenSSH refuses in a username on its command line (`valid_ruser` in its ssh.c). */
const REFUSED = /^-|['`";&<>|(){}]|\s-|\\$/
/** OpenSSH expands both since version 10, so no spelling works for all versions. */
const EXPANDED = /%|\$\{/

/**
 * Why nothing for ssh may have a username, to complete "a username …".
 *
 * ssh does not check one that comes from a file, and a shell runs it where a reader's own `Match exec` or `ProxyCommand`
 * has `%r`.
 */
export function faultOfSshUsername(username: string): string | undefined {
  if (EXPANDED.test(username)) return 'with "%" or "${", which ssh may expand'
  if (REFUSED.test(username))
    return 'that ssh refuses: it begins with "-", ends in a backslash, or holds a character of the shell'
  return undefined
}
