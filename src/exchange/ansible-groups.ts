import { STREAM_PIECE_CHARACTERS } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import { labelOf } from '../store/labels.ts'
import { yamlKey } from './ansible-yaml.ts'
import type { ExportTail } from './export-format.ts'

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
export function beginAnsibleGroups(): ExportTail {
  const groups = new Map<string, string[]>()
  return {
    take(record) {
      for (const group of groupsOf(record)) {
        const names = groups.get(group)
        if (names === undefined) groups.set(group, [record.name])
        else names.push(record.name)
      }
    },
    *pieces() {
      let piece = groups.size === 0 ? '' : '  children:\n'
      for (const [group, names] of groups) {
        piece += `${yamlKey(group, '    ')}\n      hosts:\n`
        for (const name of names) {
          piece += `${yamlKey(name, '        ')} {}\n`
          if (piece.length < STREAM_PIECE_CHARACTERS) continue
          yield piece
          piece = ''
        }
      }
      if (piece !== '') yield piece
    },
  }
}
