import type { NewConfiguration } from '../store/configuration.ts'
import { recordFields } from '../store/fields.ts'
import { faultsOfLabels, labelOf } from '../store/labels.ts'
import { bareHostname } from './export-format.ts'
import { sshLabels } from './ssh-labels.ts'

/** What OpenSSH refuses in a username that is given on the command line (`valid_ruser` in its ssh.c). */
const REFUSED_USERNAME = /^-|['`";&<>|(){}]|\s-|\\$/
/** OpenSSH expands both since version 10. */
const EXPANDED = /%|\$\{/

/**
 * The arguments for ssh that lead to a record. Every value is checked again, because a server can send anything: nothing in a
 * record becomes an option or a command.
 *
 * @returns The arguments; or, if ssh would refuse the record as it is, the reason, which completes "The record …".
 */
export function sshArguments(record: NewConfiguration): readonly string[] | string {
  for (const { name, isRequired, check } of recordFields) {
    const value = record[name]
    const detail = value === undefined && !isRequired ? undefined : check(value)
    // The name is not among the arguments.
    if (detail !== undefined && name !== 'name') return `has a ${name} that ${detail}`
  }
  const { hostname, port, username, labels = {} } = record
  const host = bareHostname(hostname)
  if (host.startsWith('-')) return 'has a hostname that begins with "-", which ssh takes for an option'
  if (REFUSED_USERNAME.test(username))
    return 'has a username that ssh refuses: with "-" first, or with a character of the shell'
  if (EXPANDED.test(username)) return 'has a username with "%" or "${", which ssh may expand'
  const options = ['-p', String(port), '-l', username]
  for (const { key, option, fault } of sshLabels) {
    const value = labelOf(labels, key)
    if (value === undefined) continue
    const reason = fault(value) ?? faultsOfLabels({ [key]: value })[0]?.detail
    if (reason !== undefined) return `has a label ${key} that ${reason}`
    options.push(option, value)
  }
  // Not behind `--`: ssh would then take what follows the host for a command, and not for its own options.
  return [...options, host]
}
