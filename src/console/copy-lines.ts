import { type FindRecord, KEY_LABEL, writtenJump } from '../exchange/hops.ts'
import { kindOf } from '../exchange/kinds.ts'
import { lookupAddress, lookupAddressWithPort } from '../exchange/lookup-address.ts'
import { faultOfKeyPath } from '../exchange/ssh-key-path.ts'
import { faultOfSshUsername } from '../exchange/ssh-username.ts'
import type { Api } from './api.ts'
import { type Configuration, configurationPath } from './configuration.ts'

/** A line that a person pastes elsewhere. */
export interface CopyLine {
  readonly title: string
  readonly text: string
  /** Why there cannot be such a line, to complete "The record …". */
  readonly fault?: string
  /** What to know of it; each completes "The record …". */
  readonly warnings?: readonly string[]
}

/**
 * The lines of a record, safe to paste into a POSIX shell. The first is for what its label `kind` says, or ssh.
 *
 * @param find Finds the records that it goes through.
 */
export function copyLines(
  configuration: Configuration,
  find: FindRecord,
  api: Pick<Api, 'url'>,
): readonly CopyLine[] {
  const token = `curl -H "Authorization: Bearer $TOKEN" ${quote(api.url(configurationPath(configuration.name)))}`
  const connecting = connectLine(configuration, find)
  const address = addressLine(configuration)
  return [...(connecting === undefined ? [] : [connecting]), address, { title: 'curl', text: token }]
}

/** The line that is copied with one press. */
export function usualLine(configuration: Configuration, find: FindRecord): CopyLine {
  return connectLine(configuration, find) ?? addressLine(configuration)
}

function addressLine({ hostname, port, username }: Configuration): CopyLine {
  const address = `${username}@${lookupAddressWithPort(hostname, port)}`
  // A hostname is harmless, and the brackets of IPv6 are wanted as they are.
  return { title: 'address', text: quote(username) === username ? address : quote(address) }
}

/** Undefined for a kind that no tool here is for. */
function connectLine(configuration: Configuration, find: FindRecord): CopyLine | undefined {
  const kind = kindOf(configuration.labels) ?? 'ssh'
  if (kind === 'postgres') return psqlLine(configuration)
  return kind === 'ssh' ? sshLine(configuration, find) : undefined
}

function sshLine(configuration: Configuration, find: FindRecord): CopyLine {
  const { hostname, port, username, labels = {} } = configuration
  const jump = writtenJump(configuration, find)
  const key = labelOf(labels, KEY_LABEL)
  const keyFault = key === undefined ? undefined : faultOfKeyPath(key)
  const usernameFault = faultOfSshUsername(username)
  const fault =
    (usernameFault && `has a username ${usernameFault}`) ??
    (typeof jump === 'string' ? jump : keyFault && `has a label ${KEY_LABEL} that ${keyFault}`)
  if (fault !== undefined || typeof jump === 'string') return { title: 'ssh', text: '', fault: fault ?? '' }
  const words = [
    ...(port === 22 ? [] : ['-p', String(port)]),
    ...(jump === undefined ? [] : ['-J', jump.word]),
    ...(key === undefined ? [] : ['-i', key]),
    // After it, nothing that begins with `-` is an option.
    '--',
    `${username}@${lookupAddress(hostname)}`,
  ]
  return { title: 'ssh', text: ['ssh', ...words.map(quote)].join(' '), warnings: jump?.warnings ?? [] }
}

/** With the settings in one word (libpq, "Keyword/Value Connection Strings"), of which none can be an option. */
function psqlLine({ hostname, port, username, labels = {} }: Configuration): CopyLine {
  const settings = Object.entries({
    host: lookupAddress(hostname),
    port: String(port),
    user: username,
    dbname: labelOf(labels, 'pg.dbname'),
    sslmode: labelOf(labels, 'pg.sslmode'),
  }).flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${settingText(value)}`]))
  return { title: 'psql', text: `psql ${quote(settings.join(' '))}` }
}

function settingText(value: string): string {
  return /^[\w.:-]+$/.test(value) ? value : `'${value.replace(/['\\]/g, '\\$&')}'`
}

function labelOf(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined
}

/** Text as one word of a POSIX shell. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
