import { resolve } from 'node:path'
import { DAMAGED, defineCommand } from '../command-line/command.ts'
import { shown } from '../command-line/output.ts'
import { checkTarget, takeBackup, writeToFile } from '../folder/backup.ts'
import { describeBackup, writeBackup } from '../folder/backup-document.ts'
import { getUsedFolder, readBetweenRestores } from '../folder/used-folder.ts'
import { onInterruption } from '../service/signals.ts'

/**
 * Works whether or not a server runs on the folder. Replaces FILE whole, or not at all.
 *
 * It throws {FolderRefusedError} {DamagedFileError} when the folder cannot be read, and {BackupFailedError}
 * {OutputError} when the backup cannot be written.
 */
export const backupCommand = defineCommand({
  name: 'backup',
  operands: 'FILE',
  otherOperand: '-',
  summary: 'save records and accounts in one file; - is standard output',
  examples: [
    ['connbook backup backup.json', 'replaces an older backup'],
    ['connbook backup - | gzip > backup.json.gz', ''],
  ],
  flags: ['data'],
  exitCodes: { 0: 'the backup is complete', 65: DAMAGED },
  async run({ options, operands: [target = ''] }, { print }) {
    const folder = await getUsedFolder(options.data)
    if (target !== '-') await checkTarget(resolve(target), folder)

    const backup = await readBetweenRestores(folder, () => takeBackup(folder))
    if (target === '-') {
      const written = writeBackup(backup, print)
      await shown(written, 'write the backup to standard output', '; what was written is not complete')
      return
    }
    using interruption = abortOnSignals()
    await writeToFile(resolve(target), backup, interruption.signal, folder.files)
    const line = `Kept ${describeBackup(backup)} of ${folder.path} in ${resolve(target)}\n`
    await shown(print(line), 'show what was done', '; the backup is complete')
  },
})

/** Leaves no half-written file after an interruption. */
function abortOnSignals() {
  const controller = new AbortController()
  // A second signal ends the process, in case the disk hangs.
  const release = onInterruption((signal) => {
    release()
    controller.abort(signal)
  })
  return { signal: controller.signal, [Symbol.dispose]: release }
}
