import type { Configuration } from '../store/configuration.ts'
import {
  addressOfHost,
  GroupMembers,
  hostVariables,
  type InventoryBook,
  isForAnsible,
  isTemplate,
  noBook,
  obstacleOfHost,
  warningsOfHost,
} from './ansible-inventory.ts'
import type { ExportFormat } from './export-format.ts'

/**
 * An inventory as `ansible-inventory --list` prints it, which inventory scripts print, too
 * (https://docs.ansible.com/ansible/latest/dev_guide/developing_inventory.html).
 */
export const ansibleJsonFormat: ExportFormat = {
  ...formOf(noBook),
  labelled: formOf,
}

function formOf(book: InventoryBook): ExportFormat {
  const { find } = book
  return {
    mediaType: 'application/json',
    fileName: 'inventory.json',
    addressOf: addressOfHost,
    isMeant: isForAnsible,
    start: '{"_meta":{"hostvars":{',
    between: ',',
    end: '}}',
    // Ansible takes hosts from the groups alone.
    begin: (notes, count) => new GroupMembers(groupsForm, notes, count),
    encode: (record) => `${JSON.stringify(record.name)}:${encodeHostVariables(record, book)}`,
    obstacle: (record) => obstacleOfHost(record, find),
    warnings: (record) => warningsOfHost(record, find),
  }
}

/** The variables of one host as a JSON object. */
function encodeHostVariables(record: Configuration, book: InventoryBook): string {
  const members = hostVariables(record, book).map(
    ([variable, value]) => `${JSON.stringify(variable)}:${JSON.stringify(unevaluated(value))}`,
  )
  return `{${members.join()}}`
}

/** What Ansible uses as it is. */
function unevaluated(value: string | number) {
  return typeof value === 'string' && isTemplate(value) ? { __ansible_unsafe: value } : value
}

const groupsForm = {
  listsUngrouped: true,
  *pieces(groups: readonly string[], namesOf: (group: string) => Iterable<string | undefined>) {
    yield ',"all":{"children":["ungrouped"'
    for (const group of groups) if (group !== 'ungrouped') yield `,${JSON.stringify(group)}`
    yield ']}'
    for (const group of groups) {
      yield `,${JSON.stringify(group)}:{"hosts":[`
      let separator = ''
      for (const name of namesOf(group)) {
        yield name === undefined ? '' : separator + JSON.stringify(name)
        if (name !== undefined) separator = ','
      }
      yield ']}'
    }
    yield '}\n'
  },
}
