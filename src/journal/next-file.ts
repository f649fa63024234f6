import { dirname } from 'node:path'
import { openTemporaryFile, removeIfPresent, syncFolder, writeAll } from '../files/atomic-file.ts'
import type { FileSystem } from '../files/file-system.ts'
import { encodeJournalStart, type JournalPosition } from './journal-file.ts'
import type { JournalStart } from './journal-reader.ts'

/**
 * Writes and syncs a new journal and renames it to `path`; the caller syncs the folder.
 *
 * @param keepAs New path of the old file; without it the old file is replaced.
 * @param onLost Called when neither file has the name `path` any more.
 * @throws the system's error; then the old file is still at `path`, or `onLost` was called.
 */
export async function putNextFile(
  path: string,
  header: JournalStart,
  changes: readonly unknown[],
  keepAs: string | undefined,
  files: FileSystem,
  onLost: (error: unknown) => void,
): Promise<JournalPosition> {
  const { bytes, ...end } = encodeJournalStart(header, changes)
  const temporary = await openTemporaryFile(path, files)
  try {
    await writeAll(temporary.file, bytes, 0)
    await temporary.file.sync()
    if (keepAs === undefined) await files.rename(temporary.path, path)
    else await keepAndReplace(keepAs)
    return { file: temporary.file, size: bytes.length, ...end }
  } catch (error) {
    await temporary.file.close()
    await removeIfPresent(temporary.path, files)
    throw error
  }

  async function keepAndReplace(keepAs: string) {
    await files.rename(path, keepAs)
    try {
      // File systems may reorder renames, and the old journal's new name must be durable first.
      await syncFolder(dirname(path), files)
      await files.rename(temporary.path, path)
    } catch (error) {
      await files.rename(keepAs, path).catch(onLost)
      throw error
    }
  }
}
