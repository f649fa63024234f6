import type { Api } from './api.ts'
import { type Configuration, configurationPath } from './configuration.ts'

/** A line that a person pastes elsewhere. */
export interface CopyLine {
  readonly title: string
  readonly text: string
}

/** The lines of a record, safe to paste into a POSIX shell. */
export function copyLines(configuration: Configuration, api: Pick<Api, 'url'>): readonly CopyLine[] {
  const { name, hostname, port, username } = configuration
  const address = `${username}@${bracketed(hostname)}:${port}`
  return [
    { title: 'ssh', text: sshLine(configuration) },
    // A hostname is harmless, and the brackets of IPv6 are wanted as they are.
    { title: 'address', text: quote(username) === username ? address : quote(address) },
    {
      title: 'curl',
      text: `curl -H "Authorization: Bearer $TOKEN" ${quote(api.url(configurationPath(name)))}`,
    },
  ]
}

/** After `--`, nothing that begins with `-` is an option. */
export function sshLine({ hostname, port, username }: Configuration): string {
  const destination = quote(`${username}@${unbracketed(hostname)}`)
  return port === 22 ? `ssh -- ${destination}` : `ssh -p ${port} -- ${destination}`
}

function unbracketed(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

function bracketed(hostname: string): string {
  return hostname.includes(':') && !hostname.startsWith('[') ? `[${hostname}]` : hostname
}

/** Text as one word of a POSIX shell. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
