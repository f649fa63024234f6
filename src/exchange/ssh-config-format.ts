import { STREAM_PIECE_CHARACTERS } from '../limits.ts'
import type { ImportedConfiguration, NewConfiguration } from '../store/configuration.ts'
import { labelOf } from '../store/labels.ts'
import { bareHostname, type ExportFormat } from './export-format.ts'
import { isPattern } from './ssh-condition.ts'
import { sshLabels } from './ssh-labels.ts'

/**
 * A file for `ssh -F` (ssh_config(5)), for OpenSSH 8.7 or later, which reads `\"` and `\\` inside quotes.
 *
 * A record can be expressed when `ssh NAME` finds it. ssh refuses names with a space, a comma or a shell character,
 * splits names with `@` or `ssh://`, and cannot escape `*` and `?` in a pattern.
 */
export const sshConfigFormat: ExportFormat = {
  mediaType: 'text/plain; charset=utf-8',
  fileName: 'ssh_config',
  encode: (record) => sshSection(record, bareHostname(record.hostname)),
  obstacle({ name, username, labels }) {
    if (name.startsWith('-')) return 'has a name that begins with "-", which ssh takes for an option'
    if (isPattern(name)) return 'has a name that is a pattern to ssh'
    if (name.includes('@')) return 'has a name with "@", before which ssh looks for a user'
    if (/^ssh:\/\//i.test(name)) return 'has a name that ssh takes for a URI'
    if (/[ ,'"`$\\;&<>|(){}]/.test(name))
      return 'has a name with a space, a comma or a character of the shell, which ssh refuses'
    // OpenSSH expands both since version 10, so no spelling works for all versions.
    if (/%|\$\{/.test(username)) return 'has a username with "%" or "${", which ssh may expand'
    for (const { key, fault } of labels === undefined ? [] : sshLabels) {
      const value = labelOf(labels, key)
      const reason = value === undefined ? undefined : fault(value)
      if (reason !== undefined) return `has a label ${key} that ${reason}`
    }
    return undefined
  },
}

/** The lines that say all that ssh can know of a record. */
export function sshSection(
  { name, port, username, labels }: Omit<NewConfiguration, 'hostname'>,
  hostname: string,
): string {
  let text =
    `Host ${quote(name)}\n  HostName ${quote(hostname.replaceAll('%', '%%'))}\n` +
    `  Port ${port}\n  User ${quote(username)}\n`
  if (labels === undefined) return text
  for (const { key, keyword, isBare } of sshLabels) {
    const value = labelOf(labels, key)
    if (value !== undefined) text += `  ${keyword} ${isBare ? value : quote(value)}\n`
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
