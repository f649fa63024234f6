import { NOTED_NAME_BYTES, STREAM_PIECE_CHARACTERS } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import { labelOf } from '../store/labels.ts'
import { yamlKey } from './ansible-yaml.ts'
import type { ExportTail } from './export-format.ts'

/** Memory of a name in a list of names; such a list grows by half. */
const REFERENCE_BYTES = 12

/** The groups of a record, from its label `group`: commas between several. */
export function groupsOf({ labels }: Configuration): string[] {
  const names = (labelOf(labels, 'group') ?? '').split(',').map((name) => name.trim())
  return [...new Set(names.filter((name) => name !== ''))]
}

/** Whether Ansible takes it without a warning, and it is not a group that Ansible makes itself. */
export function isGroupName(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name) && name !== 'all' && name !== 'ungrouped'
}

/** The groups of an inventory, each with the names of its hosts. */
export class AnsibleGroups implements ExportTail {
  readonly #groups = new Map<string, string[]>()
  bytes = 0

  take(record: Configuration): void {
    for (const group of groupsOf(record)) {
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
