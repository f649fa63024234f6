import { resolve } from 'node:path'
import { DAMAGED, defineCommand } from '../command-line/command.ts'
import { shown } from '../command-line/output.ts'
import { checkTarget, takeBackup, writeToFile } from '../folder/backup.ts'
import { describeBackup, writeBackup } from '../folder/backup-document.ts'
import { getUsedFolder, readBetweenRestores } from '../folder/used-folder.ts'
import { onInterruption } from '../service/signals.ts'

/**
 * Works whether or not a server runs on the folder. FILE holds the new backup as a whole, or what it held before.
 *
 * It throws {FolderRefusedError} {DamagedFileError} when there is nothing sound to be kept, and {BackupFailedError}
 * {OutputError} when the backup could not be written.
 */
export const backupCommand = defineCommand({
  name: 'backup',
  operands: 'FILE',
  otherOperand: '-',
  summary: 'keep records and accounts in one file; - is standard output',
  examples: [
    ['connbook backup backup.json', 'replaced whole, or not at all'],
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
      await shown(written, 'write the backup to standard output', '; what it got is not whole')
      return
    }
    using interruption = abortOnSignals()
    await writeToFile(resolve(target), backup, interruption.signal, folder.files)
    const line = `Kept ${describeBackup(backup)} of ${folder.path} in ${resolve(target)}\n`
    await shown(print(line), 'show what was done', '; the backup is complete')
  },
})

/** Somebody who interrupts finds no half-written file. */
function abortOnSignals() {
  const controller = new AbortController()
  // The next one ends the process, should the disk hold it up.
  const release = onInterruption((signal) => {
    release()
    controller.abort(signal)
  })
  return { signal: controller.signal, [Symbol.dispose]: release }
}
