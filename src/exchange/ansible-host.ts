import { LABEL_VALUE_CHARACTERS_MAX, LABELS_MAX } from '../limits.ts'
import { parseDigits } from '../store/fields.ts'
import { faultOfKey, faultOfValue, type LabelsPatch } from '../store/labels.ts'
import { isOwnControlPath } from './ansible-control-path.ts'
import { isSecret, labelKeyOf } from './column-name.ts'
import type { JsonScalar } from './json-walker.ts'
import type { RowFault } from './row.ts'
import { sshLabels } from './ssh-labels.ts'

const DEFAULT_PORT = 22
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
  ansible_ssh_common_args: ['jump', 0],
}
type HostValue = 'hostname' | 'port' | 'username' | 'key' | 'jump'
const fields = ['hostname', 'port', 'username'] as const

/** A jump and nothing else, as an export writes it, or by its long name. */
const JUMP_ARGUMENTS = /^\s*(?:-J\s*|-o\s*ProxyJump[= ])(?:'([^']+)'|"([^"\\]+)"|([^\s'"\\]+))\s*$/

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

  /** @param leaveOut Called for a way to the host, or a key, that a record cannot have. */
  rowOf(name: string, username: string | undefined, groups: readonly string[], leaveOut: LeaveOut) {
    const faults: RowFault[] = [...this.#clashes]
    const found: Record<string, unknown> = { name, hostname: name, port: DEFAULT_PORT, username }
    for (const field of fields) {
      const value = this.#values.get(field)
      const fault = value && faultOfField(value)
      if (value !== undefined) found[field] = field === 'port' ? portOf(value) : value.text
      if (fault !== undefined) faults.push({ field, detail: fault })
    }
    const labels = Array.from(this.#labels, ([key, { value }]) => [key, value] as const)
    const labelsPatch: LabelsPatch = {
      ...Object.fromEntries(labels),
      group: groups.join(',') || null,
      'ssh.proxyjump': this.#sshLabel('ssh.proxyjump', 'jump', leaveOut),
      'ssh.identityfile': this.#sshLabel('ssh.identityfile', 'key', leaveOut),
    }
    return { fields: found, labelsPatch, faults }
  }

  /** @returns Whether it became one. */
  #takeLabel(variable: string, { kind, text }: AnsibleValue): boolean {
    if (text === undefined || !['text', 'number', 'literal'].includes(kind) || isSecret(variable))
      return false
    const own = /^connbook_label_(.*)$/s.exec(variable)?.[1]
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

  #sshLabel(key: string, target: 'jump' | 'key', leaveOut: LeaveOut): string | null {
    const value = this.#values.get(target)
    if (value === undefined) return null
    const text = value.kind === 'list' || value.kind === 'vault' ? undefined : value.text
    const [, ...quoted] = (target === 'jump' && JUMP_ARGUMENTS.exec(text ?? '')) || []
    const written = target === 'jump' ? quoted.find((word) => word !== undefined) : text
    const isTemplated = value.kind !== 'literal' && isTemplate(written ?? '')
    const fault = sshLabels.find((label) => label.key === key)?.fault(written ?? '')
    if (written !== undefined && !isTemplated && fault === undefined) return written
    leaveOut(value.variable)
    return null
  }
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

function portOf({ kind, text = '' }: AnsibleValue): unknown {
  return kind === 'number' ? Number(text) : parseDigits(text)
}
