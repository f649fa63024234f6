import { type Labels, labelOf } from '../store/labels.ts'
import { AnsibleGroups } from './ansible-groups.ts'
import { quoteYaml, yamlKey } from './ansible-yaml.ts'
import { bareHostname, type ExportFormat } from './export-format.ts'

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
  labelled: {
    ...plainFormat,
    begin: () => new AnsibleGroups(),
    encode(record) {
      let text = plainFormat.encode(record)
      for (const [variable, value] of variablesOf(record.labels))
        text += `      ${variable}: ${yamlValue(value)}\n`
      return text
    },
    obstacle(record) {
      const variables = variablesOf(record.labels)
      if (new Set(variables.map(([variable]) => variable)).size < variables.length)
        return 'has labels that would be the same variable to Ansible'
      return plainFormat.obstacle?.(record)
    },
  },
}

/** The host variables of all labels but the one for groups. */
function variablesOf(labels: Labels = {}): [variable: string, value: string][] {
  return Object.keys(labels)
    .filter((key) => key !== 'group')
    .map((key) => [`connbook_label_${key.replace(/[^a-z0-9]/g, '_')}`, labelOf(labels, key) ?? ''])
}

/** A text that Ansible uses as it is. */
function yamlValue(text: string): string {
  return isTemplate(text) ? `!unsafe ${quoteYaml(text)}` : quoteYaml(text)
}

function isTemplate(text: string): boolean {
  return /\{[{%#]/.test(text)
}
