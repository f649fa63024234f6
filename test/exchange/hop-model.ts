import type { Configuration } from '../../src/store/configuration.ts'
import { labelOf } from '../../src/store/labels.ts'
import { bare } from './records.ts'

/** The records of an export. */
export interface Book {
  readonly records: readonly Configuration[]
  /** Names of the records that the file has. */
  readonly names: readonly string[]
}

/** ssh takes any other hop for something else. */
const SSH_HOP = /^(?:\w[\w.-]*@)?(?:\w[\w.-]*|\[[\da-f:.]+\])(?::(?<port>[1-9]\d*))?$/i
const PORT_MAX = 65_535

function isSshHop(text: string): boolean {
  const hop = SSH_HOP.exec(text)
  return hop !== null && Number(hop.groups?.port ?? 1) <= PORT_MAX
}

/**
 * What an ssh_config says of a record's hops: as the label has them, if ssh can read them, and all that are records are in
 * the file.
 */
export function jumpInFile(record: Configuration, { records, names }: Book): string | undefined {
  const value = labelOf(record.labels, 'ssh.proxyjump')
  const isKept = hopsOf(record, records).every(
    ({ text, hop }) => isSshHop(text) && (hop === undefined || names.includes(hop.name)),
  )
  return value === undefined || isKept ? value : writtenHops(record, records).join()
}

/** The hops of a record's label, each with the record that it names. */
function hopsOf({ labels }: Configuration, records: readonly Configuration[]) {
  const value = labelOf(labels, 'ssh.proxyjump') ?? 'none'
  return (value === 'none' ? [] : value.split(',')).map((text) => {
    const find = (wanted: string) => records.find(({ name }) => name === wanted && name !== 'none')
    const [, user, host = '', port] = /^(?:(.*)@)?(.*?)(?::(\d+))?$/s.exec(text) ?? []
    const whole = find(text)
    return whole === undefined ? { text, hop: find(host), user, port } : { text, hop: whole }
  })
}

/** With those of the first one before them. */
export function writtenHops(record: Configuration, records: readonly Configuration[]): string[] {
  const hops = hopsOf(record, records)
  const first = hops[0]?.hop
  return [
    ...(first === undefined ? [] : writtenHops(first, records)),
    ...hops.map(({ text, hop, user, port }) =>
      hop === undefined ? text : `${user ?? hop.username}@${bracketed(hop.hostname)}:${port ?? hop.port}`,
    ),
  ]
}

function bracketed(hostname: string): string {
  const address = bare(hostname)
  return address.includes(':') ? `[${address}]` : address
}
