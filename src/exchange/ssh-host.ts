import { parseDigits } from '../store/fields.ts'
import type { LabelsPatch } from '../store/labels.ts'
import { sshLabels } from './ssh-labels.ts'

const DEFAULT_PORT = 22
const keywords = ['HostName', 'Port', 'User', ...sshLabels.map(({ keyword }) => keyword)]
const kept = new Set(keywords.map((keyword) => keyword.toLowerCase()))
const labels = sshLabels.map((label) => ({ ...label, lower: label.keyword.toLowerCase() }))

/** What is wrong with the values of a host, with the keyword. */
export interface SshHostFault {
  readonly field: string
  readonly detail: string
}

/** One host as a record, or why there can be none; fields and labels are still to be checked. */
export type SshHost = { readonly fault: SshHostFault } | ReadHost

interface ReadHost {
  readonly fault?: undefined
  readonly fields: Record<string, unknown>
  readonly labelsPatch: LabelsPatch
  /** One for each label whose value does not fit; it is not in `labelsPatch`. */
  readonly labelFaults: readonly SshHostFault[]
}

/** @param lower A keyword in small letters. */
export function isKept(lower: string): boolean {
  return kept.has(lower)
}

/**
 * What ssh makes of a host, as far as a record can hold it.
 *
 * @param textOf Gets a keyword in small letters.
 */
export function readSshHost(name: string, textOf: (lower: string) => string | undefined): SshHost {
  const hostname = expandHostname(textOf('hostname') ?? name, name)
  if (hostname === undefined) {
    const detail = 'holds a token that only ssh can expand; of those, %h and %% are known'
    return { fault: { field: 'HostName', detail } }
  }
  const username = textOf('user')
  if (username === undefined)
    return { fault: { field: 'User', detail: 'is missing; a configuration has a username' } }
  // Since version 10 OpenSSH expands both, so the meaning depends on the version.
  if (/%|\$\{/.test(username))
    return { fault: { field: 'User', detail: 'holds "%" or "${", which ssh may expand' } }
  const text = textOf('port')
  // ssh takes a port with zeros before it.
  const port = text === undefined ? DEFAULT_PORT : parseDigits(text.replace(/^0+(?=\d)/, ''))
  const labelFaults: SshHostFault[] = []
  const labelsPatch: Record<string, string> = {}
  for (const { key, keyword, lower, fromFile, fault } of labels) {
    const written = textOf(lower)
    // What the file does not say stays as it is.
    if (written === undefined) continue
    const value = fromFile?.(written) ?? written
    const detail = fault(value)
    if (detail === undefined) labelsPatch[key] = value
    else labelFaults.push({ field: keyword, detail })
  }
  return { fields: { name, hostname, port, username }, labelFaults, labelsPatch }
}

/** What ssh makes of a HostName; undefined for an unknown token. */
export function expandHostname(text: string, name: string): string | undefined {
  if (text.replaceAll(/%[%h]/g, '').includes('%')) return undefined
  return text.replace(/%([%h])/g, (_, token) => (token === 'h' ? name : '%'))
}
