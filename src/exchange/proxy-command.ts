import { isIPv6 } from 'node:net'
import { isPlainHop } from './hops.ts'

/** Programs that connect, where they are given no more than a host and a port. */
const CONNECTING = /^(?:\/(?:usr\/)?bin\/)?(?:nc|ncat|netcat)$/
/** What ssh replaces with the host and the port that a connection is for. */
const TARGET = /^(?:%h|\[%h\]):%p$/

/**
 * The hop of a `ProxyCommand` that does what `ProxyJump` does: `ssh -W %h:%p HOST`, in any order, perhaps with `-q`, `-l`
 * and `-p`.
 *
 * @param words The command, as a shell splits it.
 * @returns `[USER@]HOST[:PORT]`; `none` for `none` and for a program that only connects to the target; undefined for a
 *   command that does anything else.
 */
export function hopOfProxyCommand(words: readonly string[]): string | undefined {
  const [program = '', ...rest] = words
  if (words.length === 1 && program === 'none') return 'none'
  if (CONNECTING.test(program) && rest.join(' ') === '%h %p') return 'none'
  const found = new Map<string, string>()
  if (program !== 'ssh') return undefined
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? ''
    const [, letter = '', joined = ''] = /^-q*([Wlp])(.*)$/s.exec(word) ?? []
    if (/^-q+$/.test(word)) continue
    if (word.startsWith('-') && letter === '') return undefined
    const key = letter === '' ? 'host' : letter
    if (found.has(key)) return undefined
    if (letter !== '' && joined === '') at += 1
    found.set(key, letter === '' ? word : joined || (rest[at] ?? ''))
  }
  return TARGET.test(found.get('W') ?? '') ? hopOf(found) : undefined
}

function hopOf(found: ReadonlyMap<string, string>): string | undefined {
  const [, ownUser, host = ''] = /^(?:(.*)@)?(.*)$/s.exec(found.get('host') ?? '') ?? []
  const [user, port] = [found.get('l'), found.get('p')]
  // Which of two users counts depends on more than this line; a colon in a host is part of its name.
  if ((user !== undefined && ownUser !== undefined) || (host.includes(':') && !isIPv6(host))) return undefined
  const hop = `${host.includes(':') ? `[${host}]` : host}${port === undefined ? '' : `:${port}`}`
  const whole = (ownUser ?? user) === undefined ? hop : `${ownUser ?? user}@${hop}`
  return isPlainHop(whole) ? whole : undefined
}
