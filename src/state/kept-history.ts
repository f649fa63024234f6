import { PARSED_BYTES_A_TURN } from '../audit/record-history.ts'
import type { TrailLine } from '../audit/trail-lines.ts'
import { scanTrail, type Turn } from '../audit/trail-scan.ts'
import { writeAtomicFile } from '../files/atomic-file.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { isObject } from '../json.ts'
import { listTag, storeOfTag } from '../store/list-tag.ts'
import { escapeHidden } from '../text.ts'

/** What a line of a change says, but for its place; nothing of where a request came from. */
const members = ['time', 'event', 'kind', 'by', 'command', 'via', 'after'] as const
/** These follow the tag. */
const membersAfter = [
  ...['id', 'name', 'changed', 'record'],
  ...['mode', 'matched', 'added', 'modified', 'removed', 'unchanged', 'query_sha256', 'query', 'reason'],
] as const

/** A change as a backup keeps it: a line of the trail with its revision, without tag, address and request. */
export type KeptEntry = Readonly<Record<string, unknown>> & { readonly revision: number }

/**
 * Reads the history of a folder from its trail, up to a revision.
 *
 * @param turn For a process that serves others meanwhile.
 * @returns By rising revision, each once.
 * @throws the system's error.
 */
export async function readKeptHistory(
  folder: DataPaths,
  { store, revision }: { readonly store: string; readonly revision: number },
  turn: Turn = async (piece) => piece(),
): Promise<readonly KeptEntry[]> {
  const found = new Map<string, KeptEntry>()
  const take = (line: TrailLine, at: number) => {
    const id = isObject(line.record) ? line.record.id : line.id
    found.set(`${at} ${id}`, { revision: at, ...pick(line, [...members, ...membersAfter]) })
  }
  await scanTrail(
    folder,
    {
      store: storeOfTag(store),
      upTo: revision,
      text: '',
      takesCounts: true,
      turnBytes: PARSED_BYTES_A_TURN,
      take,
      isDone: () => false,
    },
    turn,
  )
  return [...found.values()].sort((a, b) => a.revision - b.revision)
}

/** Writes a history of a backup to a new folder, as one that goes before the trail of its store. */
export async function writeKeptHistory(
  { file, files }: DataPaths,
  store: string,
  entries: readonly KeptEntry[],
): Promise<void> {
  const lines = entries.map((entry) => {
    const tag = listTag(store, entry.revision)
    return `${escapeHidden(JSON.stringify({ ...pick(entry, members), tag, ...pick(entry, membersAfter) }))}\n`
  })
  await writeAtomicFile(file(dataFiles.history), lines.join(''), files)
}

/** Whether a line of a backup is such an entry. */
export function isKeptEntry(input: unknown): input is KeptEntry {
  return isObject(input) && Number.isSafeInteger(input.revision) && typeof input.time === 'string'
}

function pick(line: TrailLine, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.flatMap((name) => (line[name] === undefined ? [] : [[name, line[name]] as const])),
  )
}
