import { resolve } from 'node:path'
import { DAMAGED, defineCommand } from '../command-line/command.ts'
import { type Print, shown } from '../command-line/output.ts'
import { CANNOT_KEEP, checkTarget, takeBackup, writeToFile } from '../folder/backup.ts'
import { describeBackup, writeBackup } from '../folder/backup-document.ts'
import { getUsedFolder, readBetweenRestores } from '../folder/used-folder.ts'
import { abortOnSignals, isStandardOutput, isStream, writeToOutput, writeToStream } from './written-file.ts'

/**
 * Works whether or not a server runs on the folder. Replaces FILE whole, or not at all.
 *
 * It throws {FolderRefusedError} {DamagedFileError} when the folder cannot be read, and {BackupFailedError}
 * {FileNotReplacedError} {OutputError} when the backup cannot be written.
 */
export const backupCommand = defineCommand({
  name: 'backup',
  operands: 'FILE',
  otherOperand: '-',
  completes: 'files',
  summary: 'save records and accounts in one file; - is standard output',
  examples: [
    ['connbook backup backup.json', 'replaces an older backup'],
    ['connbook backup - | gzip > backup.json.gz', ''],
  ],
  flags: ['data'],
  exitCodes: { 0: 'the backup is complete', 65: DAMAGED },
  async run({ options, operands: [target = ''] }, { print }) {
    const folder = await getUsedFolder(options.data)
    const isReplaced = !isStandardOutput(target) && !(await isStream(target, CANNOT_KEEP))
    if (isReplaced) await checkTarget(resolve(target), folder)

    const backup = await readBetweenRestores(folder, () => takeBackup(folder))
    const write = (printPiece: Print) => writeBackup(backup, printPiece)
    if (isStandardOutput(target)) return writeToOutput(write, 'the backup', print)
    if (!isReplaced) return writeToStream(write, 'the backup', target)
    using interruption = abortOnSignals()
    await writeToFile(resolve(target), backup, interruption.signal, folder.files)
    const line = `Kept ${describeBackup(backup)} of ${folder.path} in ${resolve(target)}\n`
    await shown(print(line), 'show what was done', '; the backup is complete')
  },
})
