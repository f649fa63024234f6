import { ANSIBLE_GROUPS_MAX, NOTED_NAME_BYTES, STREAM_PIECE_CHARACTERS } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import { labelOf } from '../store/labels.ts'
import { yamlKey } from './ansible-yaml.ts'
import type { ExportTail } from './export-format.ts'

/** Memory of a name in a list of names; such a list grows by half. */
const REFERENCE_BYTES = 12

const LEFT_OUT_LISTED_MAX = 20

/** Ansible makes the first itself, for hosts without a group; the second has another meaning in its output. */
const impossible = new Set(['ungrouped', '_meta'])

/** The groups of a record, from its label `group`: commas between several. Every host is in `all` anyway. */
function groupsOf({ labels }: Configuration): string[] {
  const names = (labelOf(labels, 'group') ?? '').split(',').map((name) => name.trim())
  return [...new Set(names.filter((name) => name !== '' && name !== 'all'))]
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
