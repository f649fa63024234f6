import { ifPresent, RESTORE_ADVICE } from '../../errors.ts'
import { openAtomicFile } from '../../files/atomic-file.ts'
import type { FileSystem, OpenFile } from '../../files/file-system.ts'
import type { Configuration } from '../../store/configuration.ts'
import type { ConfigurationIndex } from '../../store/configuration-index.ts'
import {
  type DocumentStart,
  loadRecordDocument,
  readRecordDocument,
  type StateHeader,
  writeRecordDocument,
} from '../record-document.ts'

/** Growth of a snapshot between its syncs: a larger sync would delay those of the journal. */
const SNAPSHOT_SYNC_BYTES = 8 * 1024 * 1024

export const snapshotKind = {
  format: 'connbook snapshot',
  version: 2,
  members: [],
  advice: RESTORE_ADVICE,
}

/**
 * Replaces the snapshot, durably; see `writeRecordDocument`.
 *
 * @param beforeReplacing Called when all is written; if it fails, the old snapshot stays.
 * @returns The size of the file in bytes.
 */
export async function writeSnapshot(
  path: string,
  header: StateHeader,
  records: Iterable<Configuration>,
  files: FileSystem,
  beforeReplacing?: () => Promise<void> | undefined,
): Promise<number> {
  const file = await openAtomicFile(path, files)
  let syncDueBytes = SNAPSHOT_SYNC_BYTES
  const write = async (text: string) => {
    await file.write(text)
    if (file.size < syncDueBytes) return
    await file.datasync()
    syncDueBytes = file.size + SNAPSHOT_SYNC_BYTES
  }
  try {
    await writeRecordDocument(snapshotKind, header, {}, records, write)
    await beforeReplacing?.()
    await file.commit()
    return file.size
  } finally {
    await file.abort()
  }
}

/** An open snapshot, before it is read. */
export class SnapshotFile {
  readonly path: string
  readonly file: OpenFile

  constructor(path: string, file: OpenFile) {
    this.path = path
    this.file = file
  }

  /** See `readRecordDocument`. */
  read(visit: (record: Configuration, jsonBytes: number) => void): Promise<DocumentStart> {
    return readRecordDocument(snapshotKind, this.path, this.file, visit)
  }

  /** See `loadRecordDocument`. */
  load(index: ConfigurationIndex): Promise<DocumentStart> {
    return loadRecordDocument(snapshotKind, this.path, this.file, index)
  }

  close(): Promise<void> {
    return this.file.close()
  }
}

/** Undefined when there is no such file. */
export async function openSnapshot(path: string, files: FileSystem): Promise<SnapshotFile | undefined> {
  const file = await ifPresent(files.open(path, 'r'))
  return file && new SnapshotFile(path, file)
}
