import type { NewConfiguration } from '../store/configuration.ts'
import { recordFields } from '../store/fields.ts'
import { faultsOfLabels, labelOf } from '../store/labels.ts'
import { type FindRecord, JUMP_LABEL, writtenJump } from './hops.ts'
import { lookupAddress } from './lookup-address.ts'
import { sshLabels } from './ssh-labels.ts'
import { faultOfSshUsername } from './ssh-username.ts'

/** A command line of ssh. */
export interface SshCommand {
  /** Without the program. */
  readonly args: readonly string[]
  /** What to know of the way; each completes "The record …". */
  readonly warnings: readonly string[]
}

/**
 * The arguments for ssh that lead to a record. Every value is checked again, because a server can send anything: nothing in a
 * record becomes an option or a command.
 *
 * @param find Finds the records that it goes through, by their whole names.
 * @returns The reason, which completes "The record …", if ssh would refuse the record as it is.
 */
export function sshCommandTo(record: NewConfiguration, find: FindRecord): SshCommand | string {
  for (const { name, isRequired, check } of recordFields) {
    const value = record[name]
    const detail = value === undefined && !isRequired ? undefined : check(value)
    // The name is not among the arguments.
    if (detail !== undefined && name !== 'name') return `has a ${name} that ${detail}`
  }
  const { hostname, port, username, labels = {} } = record
  const host = lookupAddress(hostname)
  if (host.startsWith('-')) return 'has a hostname that begins with "-", which ssh takes for an option'
  const usernameFault = faultOfSshUsername(username)
  if (usernameFault !== undefined) return `has a username ${usernameFault}`
  const args = ['-p', String(port), '-l', username]
  const jump = writtenJump(record, find)
  if (typeof jump === 'string') return jump
  for (const { key, keyword, option, isList, fault } of sshLabels) {
    const value = key === JUMP_LABEL ? jump?.word : labelOf(labels, key)
    if (value === undefined) continue
    const reason =
      key === JUMP_LABEL ? undefined : (fault(value) ?? faultsOfLabels({ [key]: value })[0]?.detail)
    if (reason !== undefined) return `has a label ${key} that ${reason}`
    for (const part of isList ? value.split(',') : [value])
      args.push(option, option === '-o' ? `${keyword}=${part}` : part)
  }
  // Not behind `--`: ssh would then take what follows the host for a command, and not for its own options.
  return { args: [...args, host], warnings: jump?.warnings ?? [] }
}
