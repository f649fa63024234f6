import { realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { SNAPSHOT_JOURNAL_BYTES_MIN } from '../../src/limits.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { encodeJournalStart } from '../../src/store/journal-file.ts'
import type { ShownRecord } from '../support/http-client.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeInitialFolder } from './initial-folder.ts'

/** What is left of the journal until it is worth a snapshot. */
const ROOM_BYTES = 1024

const long = '\u{1f5c4}'.repeat(250)

/** Where a recording takes place: a data folder and a folder around it that exists. */
export interface RecordedFolder {
  /** As `realpath` gives it. */
  readonly root: string
  readonly data: string
  /** What is in it already. */
  readonly records: readonly ShownRecord[]
}

/** A data folder that does not exist yet, nor does the one around it. */
export async function absentFolder(t: TestContext): Promise<RecordedFolder> {
  const root = await realpath(await temporaryFolder(t))
  return { root, data: join(root, 'new', 'data'), records: [] }
}

/** A data folder in use, without records. */
export async function usedFolder(t: TestContext): Promise<RecordedFolder> {
  const root = await realpath(await temporaryFolder(t))
  const data = join(root, 'data')
  await makeInitialFolder(t, data)
  return { root, data, records: [] }
}

/** A data folder in use, whose journal will be worth a snapshot after a few more changes. */
export async function grownFolder(t: TestContext): Promise<RecordedFolder> {
  const { root, data } = await usedFolder(t)
  const records = longRecords(SNAPSHOT_JOURNAL_BYTES_MIN - ROOM_BYTES)
  const header = { store: 'recorded', after: 0 }
  const journal = encodeJournalStart(
    header,
    records.map((add) => ({ add })),
  )
  await writeFile(join(data, 'journal.jsonl'), journal.bytes)
  return { root, data, records }
}

/** As many as go into so many bytes of a journal. */
function longRecords(bytes: number): Configuration[] {
  const records: Configuration[] = []
  for (let left = bytes; ; ) {
    const record = new Configuration(
      records.length + 1,
      draft(`${records.length} ${long}`, { username: long }),
    )
    left -= record.jsonBytes + '{"add":},'.length
    if (left < 0) return records
    records.push(record)
  }
}
