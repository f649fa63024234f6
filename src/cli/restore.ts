import { resolve } from 'node:path'
import { accountsDocument, withCredentialsLock } from '../auth/accounts.ts'
import { createKeys } from '../auth/keys.ts'
import { createRevocations } from '../auth/revocations-file.ts'
import { ConnbookError, systemCode, UsageError } from '../errors.ts'
import { dataPaths, openDataFolder, stateFiles } from '../files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { finishReplacement, prepareReplacement } from '../files/folder-replacement.ts'
import { fileStorage } from '../storage/file/file-storage.ts'
import { type Backup, describeBackup, readBackup } from './backup-document.ts'
import { type CommandContext, defineCommand, IN_USE } from './command.ts'
import { recordCommand } from './command-audit.ts'
import { shown } from './output.ts'
import { onInterruption } from './signals.ts'

/** The new files could not be written; the folder is as it was. */
export class RestoreFailedError extends ConnbookError {
  readonly code = 'restore_failed'
}

/** The backup is in the folder and counts from now on, but not all files are in their places. */
export class RestoreIncompleteError extends ConnbookError {
  readonly code = 'restore_incomplete'
}

/**
 * The folder becomes what the backup holds, with new signing keys, and its old files go aside.
 *
 * The backup is read to its end before anything is touched. Whenever the process ends, the folder is as it was, or
 * the next start of anything that owns it completes the restore.
 *
 * It throws {FolderInUseError} {FolderRefusedError} {DamagedFileError} when the folder or the backup cannot be used, and
 * {RestoreFailedError} when the disk fails or is full; then nothing has changed. It throws {RestoreIncompleteError} when
 * the disk fails after the point of no return.
 */
export const restoreCommand = defineCommand({
  name: 'restore',
  operands: 'FILE',
  summary: 'put a backup in the place of what the folder holds',
  examples: [
    ['connbook restore backup.json', 'the old files are kept aside'],
    ['connbook restore backup.json --data new', 'makes the folder'],
  ],
  notes: ['The server must be stopped. Every session and token ends.'],
  flags: ['data'],
  exitCodes: { 65: 'the backup is damaged', 75: IN_USE },
  async run({ options, operands: [source = ''] }, context) {
    if (source === '-') throw new UsageError('Write it as: connbook restore FILE')
    const backup = await readBackup(resolve(source), realFileSystem)
    // From here on it takes a moment, and to stop half-way would leave the rest to the next start.
    const release = onInterruption(() => {})
    try {
      await restore(backup, resolve(options.data), context)
    } finally {
      release()
    }
  },
})

async function restore(backup: Backup, path: string, context: CommandContext) {
  const folder = await openDataFolder(path)
  let aside: string | undefined
  try {
    aside = await withCredentialsLock(folder.path, () => replaceState(folder.path, backup))
    await recordCommand(context, folder.path, 'restored', 'restore', { as_of: backup.createdAt })
  } finally {
    folder.release()
  }
  const lines = [
    `Restored ${describeBackup(backup)} to ${folder.path}, as they were at ${backup.createdAt}`,
    ...(aside === undefined ? [] : [`What was there before is in ${aside}`]),
    'Every session and token has ended',
  ]
  const printing = context.print(`${lines.join('\n')}\n`)
  await shown(printing, 'show what was done', '; the restore is complete')
}

/**
 * Puts the state of a backup in the place of whatever a folder holds.
 *
 * @returns The folder that keeps the old files; undefined when there were none.
 */
export async function replaceState(
  folder: string,
  backup: Backup,
  files: FileSystem = realFileSystem,
): Promise<string | undefined> {
  const replacement = await prepareReplacement(folder, files).catch((error: unknown) => {
    throw notRestored(folder, error)
  })
  try {
    const paths = dataPaths(replacement.path)
    await fileStorage(paths, files).create(backup)
    await createRevocations(paths, files)
    await createKeys(paths, files)
    await accountsDocument(paths.path, files).write(backup.accounts)
    await replacement.commit()
  } catch (error) {
    // What cannot be removed now is swept when the folder is next opened.
    await replacement.abort().catch(() => {})
    throw notRestored(folder, error)
  }
  try {
    return await finishReplacement(folder, stateFiles, files)
  } catch (error) {
    throw new RestoreIncompleteError(
      `The restore to "${folder}" is not complete (${systemCode(error) ?? error}); start connbook, which completes it`,
      { cause: error },
    )
  }
}

/** An error of the system's as one that says that nothing has changed; any other as it is. */
function notRestored(folder: string, error: unknown): unknown {
  const code = systemCode(error)
  if (error instanceof ConnbookError || code === undefined) return error
  return new RestoreFailedError(
    `Cannot restore to "${folder}" (${code}); nothing has changed; see whether the disk works and has room`,
    { cause: error },
  )
}
