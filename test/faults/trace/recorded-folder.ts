import { realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { SNAPSHOT_JOURNAL_BYTES_MIN } from '../../../src/storage/file/file-storage.ts'
import { CHANGE_VERSION } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import type { ShownRecord } from '../../support/http-client.ts'
import { makeInitialFolder } from '../../support/started-folder.ts'
import { draft, encoded } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** How many bytes the journal is short of the size that starts a snapshot. */
const ROOM_BYTES = 1024

const long = '\u{1f5c4}'.repeat(250)

/** The place of a recording: a data folder, and an existing folder around it. */
export interface RecordedFolder {
  /** As `realpath` gives it. */
  readonly root: string
  readonly data: string
  /** What is in it already. */
  readonly records: readonly ShownRecord[]
}

/** A data folder that does not exist yet. */
export async function absentFolder(t: TestContext): Promise<RecordedFolder> {
  const root = await realpath(await temporaryFolder(t))
  return { root, data: join(root, 'data'), records: [] }
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
  const records = changes.map(({ add }) => add)
  const journal = encodeJournalStart({ store: 'recorded', after: 0, version: CHANGE_VERSION }, changes)
  await writeFile(join(data, 'journal.jsonl'), journal.bytes)
  return { root, data, records }
}

/** As many additions as fit into so many bytes of a journal. */
function longChanges(bytes: number): { add: Configuration }[] {
  const changes: { add: Configuration }[] = []
  for (let left = bytes; ; ) {
    const i = changes.length
    const change = { add: new Configuration(i + 1, draft(`${i} ${long}`, { username: long })) }
    left -= Buffer.byteLength(encoded([change])) - '[]'.length + ','.length
    if (left < 0) return changes
    changes.push(change)
  }
}
