import { resolve } from 'node:path'
import { waitForCommands } from '../auth/credentials-lock.ts'
import { DAMAGED, defineCommand, IN_USE } from '../command-line/command.ts'
import { type Options, type PlaceFlag, placeFlags } from '../command-line/options.ts'
import { type Print, shown } from '../command-line/output.ts'
import { UsageError } from '../errors.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { CANNOT_KEEP, checkTarget, keepBackupTime, takeBackup, writeToFile } from '../state/backup.ts'
import { type Backup, describeBackup, writeBackup } from '../state/backup-document.ts'
import { getUsedFolder, readBetweenRestores } from '../state/used-folder.ts'
import { checkChosenFolder } from './chosen-folder.ts'
import { clusterExitCodes, usedCluster } from './used-cluster.ts'
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
    ['connbook backup backup.json --etcd URL', 'of a cluster'],
    ['connbook backup backup.json --with-history', 'who did what, too'],
  ],
  notes: [
    'With --etcd it saves what a cluster holds at one moment, beside its nodes.',
    'With --with-history it takes along the history of the records, without addresses and logins.',
  ],
  flags: [...placeFlags, 'withHistory'],
  exitCodes: { ...clusterExitCodes, 0: 'the backup is complete', 65: DAMAGED, 75: IN_USE },
  async run({ options, given, operands: [target = ''] }, context) {
    await checkChosenFolder({ options, given }, context, false)
    const { print, screen } = context
    using source = await openSource(options)
    const { folder, place } = source
    const isReplaced = !isStandardOutput(target) && !(await isStream(target, CANNOT_KEEP))
    if (isReplaced) await checkTarget(resolve(target), folder)

    const backup = await source.take()
    const write = (printPiece: Print) => writeBackup(backup, printPiece)
    if (isStandardOutput(target)) await writeToOutput(write, 'the backup', print)
    else if (!isReplaced) await writeToStream(write, 'the backup', target)
    else {
      using interruption = abortOnSignals()
      await writeToFile(resolve(target), backup, interruption.signal)
    }
    if (folder !== undefined) await keepBackupTime(folder, screen)
    if (!isReplaced) return
    const line = `Kept ${describeBackup(backup)} of ${place} in ${resolve(target)}\n`
    await shown(print(line), 'show what was done', '; the backup is complete')
  },
})

/** What a backup is taken of. */
interface BackupSource extends Disposable {
  /** For messages. */
  readonly place: string
  readonly folder: DataPaths | undefined
  take(): Promise<Backup>
}

async function openSource(options: Pick<Options, PlaceFlag | 'withHistory'>): Promise<BackupSource> {
  const { withHistory, etcd } = options
  if (withHistory && etcd !== undefined)
    throw new UsageError(
      '--with-history is for a data folder, not for --etcd: each node has a history of its own',
    )
  const cluster = usedCluster(options)
  if (cluster !== undefined) return { ...cluster, folder: undefined, take: () => cluster.takeBackup() }
  const folder = await getUsedFolder(options.data)
  await waitForCommands(folder)
  const take = () => readBetweenRestores(folder, () => takeBackup(folder, withHistory))
  return { place: folder.path, folder, take, [Symbol.dispose]() {} }
}
