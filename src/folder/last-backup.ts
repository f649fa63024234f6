import { systemCode } from '../errors.ts'
import { writeAtomicFile } from '../files/atomic-file.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { type Family, gauge } from '../metrics/family.ts'

interface Screen {
  write(text: string): unknown
}

/** Keeps in a folder that a backup of it is complete, for `backupMetrics`. Never rejects: a failure is only shown. */
export async function keepBackupTime({ path, file, files }: DataPaths, screen: Screen): Promise<void> {
  try {
    await writeAtomicFile(file(dataFiles.lastBackup), `${new Date().toISOString()}\n`, files)
  } catch (error) {
    // No server runs where nothing can be written.
    if (systemCode(error) === 'EROFS') return
    screen.write(
      `connbook: Warning: the metrics do not show this backup, as its time cannot be kept in "${path}" (${systemCode(error)}); run the command as the owner of the folder\n`,
    )
  }
}

/** When `keepBackupTime` was last called for a folder, which another process does. */
export function backupMetrics({ file, files }: DataPaths): Family[] {
  return [
    gauge(
      'connbook_backup_last_timestamp_seconds',
      'When the last backup of the data folder was complete, in seconds since 1970; none before the first.',
      () => {
        try {
          // The time of the file is the time of the backup.
          const found = files.statNow(file(dataFiles.lastBackup))
          return found && Math.floor(found.mtimeMs / 1000)
        } catch {
          return undefined
        }
      },
    ),
  ]
}
