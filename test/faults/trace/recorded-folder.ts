import { realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { SNAPSHOT_JOURNAL_BYTES_MIN, SNAPSHOT_SLICE_RECORDS } from '../../../src/limits.ts'
import { type Change, encodeChanges } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { extent } from '../../support/extent.ts'
import type { ShownRecord } from '../../support/http-client.ts'
import { makeInitialFolder } from '../../support/initial-folder.ts'
import { draft } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** How many bytes the journal is short of the size that starts a snapshot. */
const ROOM_BYTES = 1024

/** More than a slice of a snapshot. */
const RECORDS_MAX = extent({ quick: SNAPSHOT_SLICE_RECORDS + 100, full: Number.POSITIVE_INFINITY })

const long = '\u{1f5c4}'.repeat(250)

/** The place of a recording: a data folder, and an existing folder around it. */
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

/** A data folder in use, whose journal starts a snapshot after a few more changes. */
export async function grownFolder(t: TestContext): Promise<RecordedFolder> {
  const { root, data } = await usedFolder(t)
  const changes = longChanges(SNAPSHOT_JOURNAL_BYTES_MIN - ROOM_BYTES)
  const records = changes.flatMap((change) => ('add' in change ? [change.add] : []))
  const journal = encodeJournalStart({ store: 'recorded', after: 0 }, changes)
  await writeFile(join(data, 'journal.jsonl'), journal.bytes)
  return { root, data, records }
}

/** As many changes as fit into so many bytes of a journal: adds, then modifications that keep the values. */
function longChanges(bytes: number): Change[] {
  const changes: Change[] = []
  const records: Configuration[] = []
  for (let left = bytes; ; ) {
    const i = changes.length
    const old = i < RECORDS_MAX ? undefined : records[i % RECORDS_MAX]
    const record = old ?? new Configuration(i + 1, draft(`${i} ${long}`, { username: long }))
    const change = old === undefined ? { add: record } : { modify: record, name: record.name }
    left -= Buffer.byteLength(encodeChanges([change])) - '[]'.length + ','.length
    if (left < 0) return changes
    if (old === undefined) records.push(record)
    changes.push(change)
  }
}
