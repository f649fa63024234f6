import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { realFileSystem } from '../../../src/files/file-system.ts'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { writeSnapshot } from '../../../src/storage/file/snapshot.ts'
import { CHANGE_VERSION } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { draft } from '../../support/store.ts'

/** A journal: the revision before it, and the names that its changes add. */
interface JournalState {
  after: number
  adds: string
  store?: string
}

/** The files of a folder; revision n adds the n-th letter of the alphabet, with id n. */
export interface FolderState {
  snapshot?: { adds: string; store?: string }
  old?: JournalState
  journal?: JournalState
}

/** Writes such files, each as the store would. */
export async function writeState(folder: string, { snapshot, old, journal }: FolderState): Promise<void> {
  const record = (name: string, index: number) => new Configuration(index + 1, draft(name))
  if (snapshot !== undefined) {
    const { adds, store = 's' } = snapshot
    const length = adds.length
    const header = { store, revision: length, lastId: length, count: length, hasLabels: false }
    await writeSnapshot(join(folder, 'snapshot.json'), header, [...adds].map(record), realFileSystem)
  }
  for (const [name, state] of Object.entries({ 'journal.old.jsonl': old, 'journal.jsonl': journal })) {
    if (state === undefined) continue
    const { after, adds, store = 's' } = state
    const changes = [...adds].map((letter, index) => ({ add: record(letter, after + index) }))
    await writeFile(
      join(folder, name),
      encodeJournalStart({ store, after, version: CHANGE_VERSION }, changes).bytes,
    )
  }
}
