import { basename } from 'node:path'
import { type DataPaths, dataFiles } from '../../files/data-folder.ts'
import { openJournalFile } from '../../journal/journal-file.ts'
import { CHANGE_VERSION, ChangeReader } from '../../store/change.ts'
import { counted } from '../../text.ts'
import type { Listed } from '../change-trail.ts'
import { asDamage, describeTail, examine, type Finding } from '../finding.ts'
import { openSnapshot } from './snapshot.ts'
import { type ReadJournal, readStore, type StoredRecords, type StoredState } from './store-files.ts'

export interface RecordsExamination {
  readonly findings: readonly Finding[]
  /** Undefined when the records cannot be read. */
  readonly stored: StoredRecords | undefined
}

/**
 * Reads as `readStore` does, and describes the content or the damage of each file.
 *
 * @param listed What the audit trail lists, read before; a change that is missing is damage.
 */
export async function examineStore(
  folder: DataPaths,
  mustExist: boolean,
  listed?: Listed,
): Promise<RecordsExamination> {
  try {
    const stored = await readStore(folder, mustExist, listed)
    return { findings: describeState(stored), stored }
  } catch (error) {
    const { path, words, isNewer } = asDamage(error)
    const name = basename(path)
    const others = await examineAlone(folder, name)
    return { findings: [{ name, words, isDamage: true, isNewer }, ...others], stored: undefined }
  }
}

function describeState({ snapshot, oldJournal, journal }: StoredState): Finding[] {
  const findings: Finding[] = []
  const add = (name: string, words: string) => findings.push({ name, words, isDamage: false })
  if (snapshot !== undefined)
    add(dataFiles.snapshot, `${counted(snapshot.count, 'record')}, up to revision ${snapshot.revision}`)
  if (oldJournal !== undefined)
    add(dataFiles.journalOld, `${describeJournal(oldJournal)}; it goes when the next snapshot is written`)
  if (journal !== undefined) add(dataFiles.journal, describeJournal(journal))
  return findings
}

function describeJournal({ file, end }: ReadJournal): string {
  const changes = counted(end.revision - file.header.after, 'change')
  return `${changes}, up to revision ${end.revision}${describeTail(end)}`
}

/** Reads every file but `damaged` by itself, because the files cannot be read together. */
async function examineAlone(folder: DataPaths, damaged: string): Promise<Finding[]> {
  const readAlone = (name: typeof dataFiles.journal | typeof dataFiles.journalOld) =>
    examine(name, async () => {
      const file = await openJournalFile(folder.file(name), folder.files, CHANGE_VERSION, 'r')
      const reader = new ChangeReader()
      return file && wordsFor(file, () => file.read((change) => reader.read(change)))
    })
  const snapshot = await examine(dataFiles.snapshot, async () => {
    const file = await openSnapshot(folder.file(dataFiles.snapshot), folder.files)
    return file && wordsFor(file, () => file.read(() => {}))
  })
  const journals = [...(await readAlone(dataFiles.journalOld)), ...(await readAlone(dataFiles.journal))]
  return [...snapshot, ...journals].filter(({ name }) => name !== damaged)
}

async function wordsFor(file: { close(): Promise<void> }, read: () => Promise<unknown>): Promise<string> {
  try {
    await read()
    return 'by itself as it was written'
  } finally {
    await file.close()
  }
}
