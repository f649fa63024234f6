import { LABEL_VALUE_CHARACTERS_MAX, LABELS_MAX } from '../limits.ts'
import { faultOfKey, faultOfValue, type LabelsPatch } from '../store/labels.ts'
import { readSshArguments } from './ansible-arguments.ts'
import { defaultPortOf, isSshConnection } from './ansible-connections.ts'
import { isOwnControlPath } from './ansible-control-path.ts'
import { isSecret, labelKeyOf } from './column-name.ts'
import { JUMP_LABEL, KEY_LABEL } from './hops.ts'
import type { JsonScalar } from './json-walker.ts'
import { KIND_LABEL } from './kinds.ts'
import type { RowFault } from './row.ts'
import { faultOfKeyPath } from './ssh-key-path.ts'

/** A label, as an export writes it: the variable cannot have all characters of the key. */
const OWN_LABEL = /^connbook_label_(.*)$/s
const SHOWN_CHARACTERS_MAX = 100
/** More than a record can have, and no end of them in memory. */
const LABELS_KEPT_MAX = 2 * LABELS_MAX

/** Variables that Ansible reads for the same, by what they are; of several, the last in this order counts. */
const variables: Readonly<Record<string, readonly [target: HostValue, rank: number]>> = {
  ansible_host: ['hostname', 0],
  ansible_ssh_host: ['hostname', 1],
  ansible_port: ['port', 0],
  ansible_ssh_port: ['port', 1],
  ansible_user: ['username', 0],
  ansible_ssh_user: ['username', 1],
  ansible_private_key_file: ['key', 0],
  ansible_ssh_private_key_file: ['key', 1],
  ansible_connection: ['connection', 0],
  ansible_ssh_args: ['arguments', 0],
  ansible_ssh_common_args: ['commonArguments', 0],
  ansible_ssh_extra_args: ['extraArguments', 0],
}
type HostValue =
  | ('hostname' | 'port' | 'username' | 'key' | 'connection')
  | ('arguments' | 'commonArguments' | 'extraArguments')
const fields = ['hostname', 'port', 'username'] as const
/** In the order in which Ansible gives them to ssh. */
const argumentVariables = ['arguments', 'commonArguments', 'extraArguments'] as const

/** What a variable has as its value. */
export interface AnsibleValue {
  /** `list`: an array or object. `vault`: an encrypted value. `literal`: a text that Ansible does not evaluate. */
  readonly kind: JsonScalar['kind'] | 'literal' | 'vault' | 'list'
  readonly text: string | undefined
}

/** Has to be counted, as what an import leaves out. */
export type LeaveOut = (variable: string) => void

/** The variables of a host that a record can keep. */
export class AnsibleHost {
  readonly #values = new Map<HostValue, AnsibleValue & { readonly rank: number; readonly variable: string }>()
  readonly #labels = new Map<string, { readonly value: string; readonly variable: string }>()
  readonly #clashes: RowFault[] = []

  /** @param hasLabels Whether other variables become labels. */
  take(variable: string, value: AnsibleValue, hasLabels: boolean, leaveOut: LeaveOut): void {
    const known = Object.hasOwn(variables, variable) ? variables[variable] : undefined
    if (known === undefined) {
      // An export makes it anew.
      if (variable === 'ansible_control_path' && isOwnControlPath(value.text ?? '')) return
      if (!hasLabels || !this.#takeLabel(variable, value)) leaveOut(variable)
      return
    }
    // To Ansible, null is as good as no variable.
    if (value.kind === 'word' && value.text === 'null') return
    const [target, rank] = known
    const before = this.#values.get(target)
    if (before === undefined || before.rank <= rank) this.#values.set(target, { ...value, rank, variable })
  }

  /** @param leaveOut Called for a key that a record cannot have, and for arguments of ssh that it does not keep. */
  rowOf(name: string, username: string | undefined, groups: readonly string[], leaveOut: LeaveOut) {
    const faults: RowFault[] = [...this.#clashes]
    const connection = this.#readConnection(faults)
    const port = defaultPortOf(connection)
    const found: Record<string, unknown> = { name, hostname: name, port, username }
    for (const field of fields) {
      const value = this.#values.get(field)
      const fault = value && faultOfField(value)
      if (value !== undefined) found[field] = field === 'port' ? portOf(value) : value.text
      if (fault !== undefined) faults.push({ field, detail: fault })
    }
    const labelsPatch: LabelsPatch = {
      ...Object.fromEntries(Array.from(this.#labels, ([key, { value }]) => [key, value] as const)),
      group: groups.join(',') || null,
      ...withLabel(KIND_LABEL, connection),
      ...withLabel(JUMP_LABEL, this.#readWay(faults, leaveOut)),
      ...withLabel(KEY_LABEL, this.#readKey(leaveOut)),
    }
    const looseKeys = [...this.#labels].flatMap(([key, { variable }]) =>
      OWN_LABEL.test(variable) ? [key] : [],
    )
    return { fields: found, labelsPatch, faults, ...(looseKeys.length === 0 ? {} : { looseKeys }) }
  }

  /** @returns Whether it became one. */
  #takeLabel(variable: string, { kind, text }: AnsibleValue): boolean {
    if (text === undefined || !['text', 'number', 'literal'].includes(kind) || isSecret(variable))
      return false
    const own = OWN_LABEL.exec(variable)?.[1]
    // Those have other places in an inventory.
    if (own !== undefined && /^(?:group|kind|(?:ssh|pg)_.*)$/s.test(own)) return false
    const key = labelKeyOf(own ?? variable)
    if (key === 'group' || faultOfKey(key) !== undefined) return false
    if (text.length > LABEL_VALUE_CHARACTERS_MAX || faultOfValue(text) !== undefined) return false
    const before = this.#labels.get(key)
    if (before !== undefined && before.variable !== variable) {
      const detail = `is made by ${JSON.stringify(before.variable)} and ${JSON.stringify(variable)}; rename one of these variables`
      this.#clashes.push({ field: `labels.${key}`, detail })
    } else if (this.#labels.size < LABELS_KEPT_MAX) this.#labels.set(key, { value: text, variable })
    return true
  }

  /** What `ansible_connection` says if that is not ssh; null for ssh, undefined if nothing says it. */
  #readConnection(faults: RowFault[]): string | null | undefined {
    const value = this.#values.get('connection')
    if (value === undefined) return undefined
    const fault = faultOfField(value)
    if (fault !== undefined)
      faults.push({ field: value.variable, detail: fault, isShared: true, isWay: true })
    const { text = '' } = value
    return fault !== undefined || isSshConnection(text) ? null : text
  }

  /** The hops that the arguments for ssh name; null if these are there and empty, undefined if they name none. */
  #readWay(faults: RowFault[], leaveOut: LeaveOut): string | null | undefined {
    let jump: string | null | undefined
    for (const target of argumentVariables) {
      const value = this.#values.get(target)
      if (value === undefined) continue
      const { variable, text = '' } = value
      const found = readSshArguments(text)
      const detail = faultOfField(value) ?? (value.text === undefined ? 'is too long' : found.fault)
      if (detail !== undefined) faults.push({ field: variable, detail, isShared: true, isWay: true })
      for (const option of found.others) leaveOut(`${option} in ${variable}`)
      if (typeof jump === 'string' && found.jump !== undefined) leaveOut(`the second way in ${variable}`)
      else jump = found.jump ?? (target === 'commonArguments' && text.trim() === '' ? (jump ?? null) : jump)
    }
    return jump
  }

  /** Null for an empty path, undefined for one that no label can hold, or if no variable has one. */
  #readKey(leaveOut: LeaveOut): string | null | undefined {
    const value = this.#values.get('key')
    if (value === undefined) return undefined
    const { kind, text, variable } = value
    if (text?.trim() === '') return null
    const isText = kind !== 'list' && kind !== 'vault' && text !== undefined
    const isSound = isText && (kind === 'literal' || !isTemplate(text)) && faultOfKeyPath(text) === undefined
    if (isSound && text.length <= LABEL_VALUE_CHARACTERS_MAX && faultOfValue(text) === undefined) return text
    leaveOut(variable)
    return undefined
  }
}

/** What an inventory does not say stays as it is. */
function withLabel(key: string, value: string | null | undefined): LabelsPatch {
  return value === undefined ? {} : { [key]: value }
}

function faultOfField({ kind, text, variable }: AnsibleValue & { readonly variable: string }) {
  if (kind === 'vault') return `is encrypted by ansible-vault, as ${variable}; write it as it is`
  if (kind === 'list' || kind === 'word') return `must be a text or a number, as ${variable}`
  if (kind === 'literal' || text === undefined || !isTemplate(text)) return undefined
  const shown = JSON.stringify(text.slice(0, SHOWN_CHARACTERS_MAX))
  return `is a template, ${shown}, which Ansible fills in only when it connects; write the value as ${variable}`
}

/** As Ansible looks for them. */
function isTemplate(text: string): boolean {
  return /\{[{%#]/.test(text)
}

/** As Ansible reads it: also a text with zeros before the number. */
function portOf({ kind, text = '' }: AnsibleValue): unknown {
  const [, digits] = /^\s*\+?0*(\d{1,9})\s*$/.exec(text) ?? []
  return kind === 'number' ? Number(text) : digits === undefined ? text : Number(digits)
}
