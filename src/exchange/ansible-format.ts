import { bareHostname, type ExportFormat } from './export-format.ts'

/** YAML limits a key without `?` to 1024 characters. */
const PLAIN_KEY_CHARACTERS_MAX = 1000

const groupNames = new Set(['all', 'ungrouped'])

/**
 * A YAML inventory for `ansible -i`; the INI form cannot express names with white space or `=`.
 *
 * Ansible expands ranges (`[1:3]`) in host names, splits off a port at their end, and evaluates templates in every
 * value that it uses.
 */
export const ansibleFormat: ExportFormat = {
  mediaType: 'application/yaml; charset=utf-8',
  fileName: 'inventory.yml',
  start: 'all:\n  hosts:\n',
  encode({ name, hostname, port, username }) {
    const key = quote(name)
    return (
      `    ${key.length > PLAIN_KEY_CHARACTERS_MAX ? `? ${key}\n    :` : `${key}:`}\n` +
      `      ansible_host: ${quote(bareHostname(hostname))}\n` +
      `      ansible_port: ${port}\n      ansible_user: ${quote(username)}\n`
    )
  },
  obstacle({ name, username }) {
    if (name.includes('[')) return 'has a name with "[", where Ansible looks for a range'
    if (/:\d+$/.test(name)) return 'has a name that ends in a port to Ansible'
    if (groupNames.has(name)) return 'has a name that Ansible gives to a group'
    if (isTemplate(name)) return 'has a name that is a template to Ansible'
    if (isTemplate(username)) return 'has a username that is a template to Ansible'
    return undefined
  },
}

function isTemplate(text: string): boolean {
  return /\{[{%#]/.test(text)
}

/**
 * A double-quoted YAML text; its escapes include those of JSON (YAML 1.2 section 5.7). YAML would fold the line
 * separators, and forbids the other characters unescaped.
 */
function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16)}`,
  )
}
