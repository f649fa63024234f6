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

/** YAML limits a key without `?` to 1024 characters. */
const PLAIN_KEY_CHARACTERS_MAX = 1000

/**
 * A YAML inventory for `ansible -i`; the INI form cannot express names with white space or `=`.
 *
 * Ansible expands ranges (`[1:3]`) in host names, splits off a port at their end, and evaluates templates in names, and
 * in every value that is not marked as unsafe.
 */
export const ansibleFormat: ExportFormat = {
  ...formOf(noBook),
  labelled: (book) => ({
    ...formOf(book),
    begin: (notes, count) => new GroupMembers(groupsForm, notes, count),
  }),
}

function formOf(book: InventoryBook): ExportFormat {
  const { find } = book
  return {
    mediaType: 'application/yaml; charset=utf-8',
    fileName: 'inventory.yml',
    addressOf: addressOfHost,
    isMeant: isForAnsible,
    start: 'all:\n  hosts:\n',
    encode: (record) => `${yamlKey(record.name, '    ')}\n${linesOf(record)}`,
    obstacle: (record) => obstacleOfHost(record, find),
    warnings: (record) => warningsOfHost(record, find),
  }

  function linesOf(record: Configuration): string {
    let text = ''
    for (const [variable, value] of hostVariables(record, book))
      text += `      ${variable}: ${typeof value === 'number' ? value : yamlValue(value)}\n`
    return text
  }
}

const groupsForm = {
  listsUngrouped: false,
  *pieces(groups: readonly string[], namesOf: (group: string) => Iterable<string | undefined>) {
    if (groups.length > 0) yield '  children:\n'
    for (const group of groups) {
      yield `${yamlKey(group, '    ')}\n      hosts:\n`
      for (const name of namesOf(group)) yield name === undefined ? '' : `${yamlKey(name, '        ')} {}\n`
    }
  },
}

/** A text that Ansible uses as it is. */
function yamlValue(text: string): string {
  return isTemplate(text) ? `!unsafe ${quoteYaml(text)}` : quoteYaml(text)
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
