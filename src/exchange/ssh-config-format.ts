import { STREAM_PIECE_CHARACTERS } from '../limits.ts'
import type { Configuration, ImportedConfiguration, NewConfiguration } from '../store/configuration.ts'
import { labelOf } from '../store/labels.ts'
import type { ExportFormat, RecordBook } from './export-format.ts'
import {
  faultOfLastHop,
  HOPS_MAX,
  hasHops,
  hostOfHop,
  isPlainHop,
  JUMP_LABEL,
  resolveWay,
  type Way,
  warningsOf,
  writeWay,
} from './hops.ts'
import { lookupAddress } from './lookup-address.ts'
import { isPattern } from './ssh-condition.ts'
import { sshLabels } from './ssh-labels.ts'
import { faultOfSshUsername } from './ssh-username.ts'

/**
 * A file for `ssh -F` (ssh_config(5)), for OpenSSH 8.7 or later, which reads `\"` and `\\` inside quotes.
 *
 * A record can be expressed when `ssh NAME` finds it. ssh refuses names with a space, a comma or a shell character,
 * splits names with `@` or `ssh://`, and cannot escape `*` and `?` in a pattern.
 */
export const sshConfigFormat: ExportFormat = {
  mediaType: 'text/plain; charset=utf-8',
  fileName: 'ssh_config',
  kind: 'ssh',
  encode: (record) => sshSection(record, lookupAddress(record.hostname)),
  obstacle({ name, username }) {
    if (name.startsWith('-')) return 'has a name that begins with "-", which ssh takes for an option'
    if (isPattern(name)) return 'has a name that is a pattern to ssh'
    if (name.includes('@')) return 'has a name with "@", before which ssh looks for a user'
    if (/^ssh:\/\//i.test(name)) return 'has a name that ssh takes for a URI'
    if (/[ ,'"`$\\;&<>|(){}]/.test(name))
      return 'has a name with a space, a comma or a character of the shell, which ssh refuses'
    const usernameFault = faultOfSshUsername(username)
    return usernameFault === undefined ? undefined : `has a username ${usernameFault}`
  },
  labelled(book) {
    const hosts = new Hosts(book)
    return {
      ...sshConfigFormat,
      encode(record) {
        const { jump } = hosts.inspect(record)
        return sshSection(record, lookupAddress(record.hostname), jump)
      },
      obstacle: (record) => hosts.inspect(record).obstacle,
      warnings: (record) => hosts.inspect(record).warnings ?? [],
    }
  },
}

/** What becomes of a record in a file. */
interface Host {
  /** Why the file cannot have it, to complete "The record …". */
  readonly obstacle?: string
  /** For `ProxyJump`, if that is not the label's text. */
  readonly jump?: string
  readonly warnings?: readonly string[]
}

/**
 * The hosts of a file whose records may be each other's hops.
 *
 * A hop stays as the label has it where its own section is in the file, so that it keeps all that this says; of several all
 * stay, or all are written out.
 */
class Hosts {
  readonly #book: RecordBook
  /** Those behind hops that are hops themselves: the others may be nearly all records. */
  readonly #known = new Map<string, Host>()
  /** The record that was asked for last: each is asked for several times in a row. */
  #last: { readonly record: Configuration; readonly host: Host } | undefined

  constructor(book: RecordBook) {
    this.#book = book
  }

  /** @param depth How many records wait for the answer. */
  inspect(record: Configuration, depth = 0): Host {
    if (!hasHops(record)) {
      const obstacle = obstacleOf(record)
      return obstacle === undefined ? {} : { obstacle }
    }
    const known = this.#last?.record === record ? this.#last.host : this.#known.get(record.name)
    if (known !== undefined) return known
    if (depth > HOPS_MAX) return { obstacle: 'is needed to answer too long a question' }
    // Two records may be hops of each other, behind others: then one of them is written out.
    this.#known.set(record.name, { obstacle: 'waits for the answer' })
    const host = this.#find(record, depth)
    if (this.#book.find(record.name) === undefined) this.#known.delete(record.name)
    else this.#known.set(record.name, host)
    if (depth === 0) this.#last = { record, host }
    return host
  }

  #find(record: Configuration, depth: number): Host {
    const way = resolveWay(record, this.#book.find)
    const obstacle = obstacleOf(record) ?? (typeof way === 'string' ? way : undefined)
    if (obstacle !== undefined) return { obstacle }
    if (typeof way !== 'object') return {}
    if (
      way.own.every(
        ({ word, record: hop }) => isPlainHop(word) && (hop === undefined || this.#has(hop.name, depth)),
      )
    ) {
      const loop = faultOfLastHop(record, way.own.at(-1)?.word)
      return loop === undefined ? { warnings: warningsOf(way.own, false) } : { obstacle: loop }
    }
    const written = writeWay(record, way)
    if (typeof written === 'string') return { obstacle: written }
    const confused = this.#findConfused(way, depth)
    return confused === undefined
      ? { jump: written.word, warnings: written.warnings }
      : { obstacle: confused }
  }

  #has(name: string, depth: number): boolean {
    const record = this.#book.find(name)
    if (record === undefined || !this.#book.keeps(record)) return false
    return this.inspect(record, depth + 1).obstacle === undefined
  }

  /** To a hop that is written out, ssh applies the section with the name of the hop's host. */
  #findConfused({ all }: Way, depth: number): string | undefined {
    for (const hop of all) {
      const host = hostOfHop(hop)
      if (hop.record === undefined || hop.record.name === host || !this.#has(host, depth)) continue
      return `goes through ${JSON.stringify(hop.record.name)}, to whose host ssh would apply the record ${JSON.stringify(host)}`
    }
    return undefined
  }
}

function obstacleOf(record: Configuration): string | undefined {
  const reason = sshConfigFormat.obstacle?.(record)
  if (reason !== undefined) return reason
  for (const { key, fault } of record.labels === undefined ? [] : sshLabels) {
    const value = labelOf(record.labels, key)
    // A hop may be the name of a record, which is judged with the way to it.
    const detail = value === undefined || (key === JUMP_LABEL && hasHops(record)) ? undefined : fault(value)
    if (detail !== undefined) return `has a label ${key} that ${detail}`
  }
  return undefined
}

/**
 * The lines that say all that ssh can know of a record.
 *
 * @param jump For `ProxyJump` in place of the label.
 */
export function sshSection(
  { name, port, username, labels }: Omit<NewConfiguration, 'hostname'>,
  hostname: string,
  jump?: string,
): string {
  let text =
    `Host ${quote(name)}\n  HostName ${quote(hostname.replaceAll('%', '%%'))}\n` +
    `  Port ${port}\n  User ${quote(username)}\n`
  if (labels === undefined) return text
  for (const { key, keyword, isBare, isList } of sshLabels) {
    const value = key === JUMP_LABEL ? (jump ?? labelOf(labels, key)) : labelOf(labels, key)
    if (value === undefined) continue
    for (const part of isList ? value.split(',') : [value])
      text += `  ${keyword} ${isBare ? part : quote(part)}\n`
  }
  return text
}

/** Quotes a word with white space, quotes, or `#`, which begins a comment. */
function quote(text: string): string {
  return /^[\w./:%+~@-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** Resolved hosts as an SSH configuration without patterns, in pieces; a server imports it to the same records. */
export function* flatSshConfiguration(drafts: Iterable<ImportedConfiguration>): Generator<string> {
  let piece = ''
  for (const draft of drafts) {
    const set = Object.entries(draft.labelsPatch ?? {}).filter(([, value]) => value !== null)
    piece += sshSection(
      { ...draft, labels: Object.fromEntries(set) as Record<string, string> },
      draft.hostname,
    )
    if (piece.length < STREAM_PIECE_CHARACTERS) continue
    yield piece
    piece = ''
  }
  yield piece
}
