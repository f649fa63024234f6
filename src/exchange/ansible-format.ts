import { ANSIBLE_GROUPS_MAX } from '../limits.ts'
import { type Labels, labelOf } from '../store/labels.ts'
import { AnsibleGroups, groupsOf, isGroupName } from './ansible-groups.ts'
import { quoteYaml, yamlKey } from './ansible-yaml.ts'
import { bareHostname, type ExportFormat } from './export-format.ts'

const groupNames = new Set(['all', 'ungrouped'])

/**
 * A YAML inventory for `ansible -i`; the INI form cannot express names with white space or `=`.
 *
 * Ansible expands ranges (`[1:3]`) in host names, splits off a port at their end, and evaluates templates in every
 * value that it uses.
 */
const plainFormat: ExportFormat = {
  mediaType: 'application/yaml; charset=utf-8',
  fileName: 'inventory.yml',
  start: 'all:\n  hosts:\n',
  encode: ({ name, hostname, port, username }) =>
    `${yamlKey(name, '    ')}\n      ansible_host: ${quoteYaml(bareHostname(hostname))}\n` +
    `      ansible_port: ${port}\n      ansible_user: ${quoteYaml(username)}\n`,
  obstacle({ name, username }) {
    if (name.includes('[')) return 'has a name with "[", where Ansible looks for a range'
    if (/:\d+$/.test(name)) return 'has a name that ends in a port to Ansible'
    if (groupNames.has(name)) return 'has a name that Ansible gives to a group'
    if (isTemplate(name)) return 'has a name that is a template to Ansible'
    if (isTemplate(username)) return 'has a username that is a template to Ansible'
    return undefined
  },
}

export const ansibleFormat: ExportFormat = {
  ...plainFormat,
  labelled: {
    ...plainFormat,
    groupsOf,
    begin: () => new AnsibleGroups(),
    encode(record) {
      let text = plainFormat.encode(record)
      for (const [variable, value] of variablesOf(record.labels))
        text += `      ${variable}: ${quoteYaml(value)}\n`
      return text
    },
    obstacle(record) {
      const variables = variablesOf(record.labels)
      const groups = groupsOf(record)
      if (groups.length > ANSIBLE_GROUPS_MAX)
        return `has a label group with more than ${ANSIBLE_GROUPS_MAX} groups, the most that connbook writes for a record`
      const badGroup = groups.find((group) => !isGroupName(group))
      if (badGroup !== undefined) return 'has a label group that Ansible does not take as the name of a group'
      if (new Set(variables.map(([variable]) => variable)).size < variables.length)
        return 'has labels that would be the same variable to Ansible'
      if (variables.some(([, value]) => isTemplate(value))) return 'has a label that is a template to Ansible'
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

function isTemplate(text: string): boolean {
  return /\{[{%#]/.test(text)
}
