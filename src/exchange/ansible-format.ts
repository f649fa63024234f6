import { NOTED_NAME_BYTES, STREAM_PIECE_CHARACTERS } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import { GROUP_KEY, groupsIn, type Labels, labelOf } from '../store/labels.ts'
import { bareHostname, type ExportFormat, type ExportTail } from './export-format.ts'
import { KEY_LABEL, writtenJump } from './hops.ts'
import { KIND_LABEL } from './kinds.ts'
import { faultOfKeyPath } from './ssh-labels.ts'

/** Groups of a record in an export for Ansible; of a record with more, the rest are left out. */
export const ANSIBLE_GROUPS_MAX = 16

/** YAML limits a key without `?` to 1024 characters. */
const PLAIN_KEY_CHARACTERS_MAX = 1000

/** Memory of a name in a list of names; such a list grows by half. */
const REFERENCE_BYTES = 12
const LEFT_OUT_LISTED_MAX = 20
/** Ansible makes the first itself, for hosts without a group; the second has another meaning in its output. */
const impossible = new Set(['ungrouped', '_meta'])

/** As a host, Ansible confuses them with its own groups. Any other host may have the name of a group. */
const groupNames = new Set(['all', 'ungrouped'])

/** What Ansible takes for a name or an address with a port; two colons make no port, so IPv6 addresses are names. */
const LABEL = '[\\p{L}\\p{N}_][\\p{L}\\p{N}_-]*(?<![_-])'
const HOST_AND_PORT = new RegExp(`^${LABEL}(?:\\.${LABEL})*:\\d+$`, 'u')

/**
 * A YAML inventory for `ansible -i`; the INI form cannot express names with white space or `=`.
 *
 * Ansible expands ranges (`[1:3]`) in host names, splits off a port at their end, and evaluates templates in names, and
 * in every value that is not marked as unsafe.
 */
const plainFormat: ExportFormat = {
  mediaType: 'application/yaml; charset=utf-8',
  fileName: 'inventory.yml',
  kind: 'ssh',
  start: 'all:\n  hosts:\n',
  encode: ({ name, hostname, port, username }) =>
    `${yamlKey(name, '    ')}\n      ansible_host: ${quoteYaml(bareHostname(hostname))}\n` +
    `      ansible_port: ${port}\n      ansible_user: ${yamlValue(username)}\n`,
  obstacle({ name }) {
    if (name.includes('[')) return 'has a name with "[", where Ansible looks for a range'
    if (HOST_AND_PORT.test(name)) return 'has a name that ends in a port to Ansible'
    if (groupNames.has(name)) return 'has a name that Ansible gives to a group'
    if (isTemplate(name)) return 'has a name that is a template to Ansible'
    return undefined
  },
}

export const ansibleFormat: ExportFormat = {
  ...plainFormat,
  labelled: ({ find }) => ({
    ...plainFormat,
    begin: () => new AnsibleGroups(),
    encode(record) {
      let text = plainFormat.encode(record)
      const jump = writtenJump(record, find)
      // Ansible splits this as a shell would, and passes the path of the key in quotation marks.
      if (typeof jump === 'object')
        text += `      ansible_ssh_common_args: ${quoteYaml(`-J '${jump.word}'`)}\n`
      const key = labelOf(record.labels, KEY_LABEL)
      if (key !== undefined) text += `      ansible_ssh_private_key_file: ${yamlValue(key)}\n`
      for (const [variable, value] of variablesOf(record.labels))
        text += `      ${variable}: ${yamlValue(value)}\n`
      return text
    },
    obstacle(record) {
      const variables = variablesOf(record.labels)
      if (new Set(variables.map(([variable]) => variable)).size < variables.length)
        return 'has labels that would be the same variable to Ansible'
      const jump = writtenJump(record, find)
      return plainFormat.obstacle?.(record) ?? (typeof jump === 'string' ? jump : obstacleOfKey(record))
    },
    warnings(record) {
      const jump = writtenJump(record, find)
      return typeof jump === 'object' ? jump.warnings : []
    },
  }),
}

function obstacleOfKey({ labels }: Configuration): string | undefined {
  const key = labelOf(labels, KEY_LABEL)
  const detail =
    key === undefined ? undefined : (faultOfKeyPath(key) ?? (/["\\]/.test(key) ? QUOTED : undefined))
  return detail === undefined ? undefined : `has a label ${KEY_LABEL} that ${detail}`
}

const QUOTED = 'holds a quotation mark or a backslash, which Ansible passes on as they are'

/** The host variables of all labels that have no place of their own in an inventory, in one for ssh, or for libpq. */
function variablesOf(labels: Labels = {}): [variable: string, value: string][] {
  return Object.keys(labels)
    .filter((key) => key !== GROUP_KEY && key !== KIND_LABEL && !/^(?:ssh|pg)\./.test(key))
    .map((key) => [`connbook_label_${key.replace(/[^a-z0-9]/g, '_')}`, labelOf(labels, key) ?? ''])
}

/** A text that Ansible uses as it is. */
function yamlValue(text: string): string {
  return isTemplate(text) ? `!unsafe ${quoteYaml(text)}` : quoteYaml(text)
}

function isTemplate(text: string): boolean {
  return /\{[{%#]/.test(text)
}

/** The groups of a record, from its label `group`: commas between several. Every host is in `all` anyway. */
function groupsOf({ labels }: Configuration): string[] {
  return groupsIn(labelOf(labels, GROUP_KEY) ?? '').filter((name) => name !== 'all')
}

/**
 * The groups of an inventory, each with the names of its hosts. Ansible takes nearly every name of a group, though it
 * may warn of it.
 */
export class AnsibleGroups implements ExportTail {
  readonly #groups = new Map<string, string[]>()
  readonly #leftOut = new Set<string>()
  bytes = 0

  get leftOutGroups(): readonly string[] {
    return [...this.#leftOut]
  }

  take(record: Configuration): void {
    for (const [i, group] of groupsOf(record).entries()) {
      if (i >= ANSIBLE_GROUPS_MAX || impossible.has(group)) {
        if (this.#leftOut.size < LEFT_OUT_LISTED_MAX) this.#leftOut.add(group)
        continue
      }
      const names = this.#groups.get(group)
      this.bytes += REFERENCE_BYTES
      if (names !== undefined) {
        names.push(record.name)
        continue
      }
      this.#groups.set(group, [record.name])
      this.bytes += 2 * NOTED_NAME_BYTES + group.length
    }
  }

  *pieces(): Iterable<string> {
    let piece = this.#groups.size === 0 ? '' : '  children:\n'
    for (const [group, names] of this.#groups) {
      piece += `${yamlKey(group, '    ')}\n      hosts:\n`
      for (const name of names) {
        piece += `${yamlKey(name, '        ')} {}\n`
        if (piece.length < STREAM_PIECE_CHARACTERS) continue
        yield piece
        piece = ''
      }
    }
    if (piece !== '') yield piece
  }
}

/** A text as the key of a mapping, up to its colon. */
function yamlKey(text: string, indentation: string): string {
  const key = quoteYaml(text)
  return key.length > PLAIN_KEY_CHARACTERS_MAX
    ? `${indentation}? ${key}\n${indentation}:`
    : `${indentation}${key}:`
}

/**
 * A double-quoted YAML text; its escapes include those of JSON (YAML 1.2 section 5.7). YAML would fold the line
 * separators, and forbids the other characters unescaped.
 */
function quoteYaml(text: string): string {
  return JSON.stringify(text).replace(
    /[\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16)}`,
  )
}
