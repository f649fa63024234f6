import { dirname } from 'node:path'
import { openTemporaryFile, removeIfPresent, syncFolder, writeAll } from '../files/atomic-file.ts'
import type { FileSystem } from '../files/file-system.ts'
import { encodeJournalStart, type JournalPosition } from './journal-file.ts'
import type { JournalHeader } from './journal-reader.ts'

/**
 * Writes the journal that comes after the one at `path`, syncs it and gives it that name. To sync the folder is left to
 * the caller.
 *
 * @param changes What the new file begins with.
 * @param keepAs The name that the old file gets; without it the new file takes its place.
 * @param onLost Called when the old file has lost its name and the new one has not got it.
 * @throws the system's error; then the old file has its name still, or `onLost` was called.
 */
export async function putNextFile(
  path: string,
  header: JournalHeader,
  changes: readonly unknown[],
  keepAs: string | undefined,
  files: FileSystem,
  onLost: (error: unknown) => void,
): Promise<JournalPosition> {
  const { bytes, crc, revision } = encodeJournalStart(header, changes)
  const temporary = await openTemporaryFile(path, files)
  try {
    await writeAll(temporary.file, bytes, 0)
    await temporary.file.sync()
    if (keepAs === undefined) await files.rename(temporary.path, path)
    else await keepAndReplace(keepAs)
    return { file: temporary.file, size: bytes.length, crc, revision }
  } catch (error) {
    await temporary.file.close()
    await removeIfPresent(temporary.path, files)
    throw error
  }

  async function keepAndReplace(keepAs: string) {
    await files.rename(path, keepAs)
    try {
      // A file system may bring names to disk in another order; the old journal must have its new one first.
      await syncFolder(dirname(path), files)
      await files.rename(temporary.path, path)
    } catch (error) {
      await files.rename(keepAs, path).catch(onLost)
      throw error
    }
  }
}
