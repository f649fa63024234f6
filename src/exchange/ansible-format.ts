import { bareHostname, type ExportFormat } from './export-format.ts'

/** YAML wants a key in one line of at most 1024 characters, unless it is marked as one. */
const PLAIN_KEY_CHARACTERS_MAX = 1000

/** Names that Ansible gives to groups of its own. */
const groupNames = new Set(['all', 'ungrouped'])

/**
 * An inventory in YAML for `ansible -i`. In one of INI lines, names with white space or `=` could not be expressed.
 *
 * Ansible takes host names apart that hold a range (`[1:3]`) or end in a port, and evaluates templates in whatever it
 * uses.
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
 * A YAML text in double quotes, whose escapes include those of JSON (YAML 1.2 section 5.7). Line separators would be
 * folded, and the others are not allowed as they are.
 */
function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16)}`,
  )
}
