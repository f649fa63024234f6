import { resolve } from 'node:path'
import { type CommandContext, defineCommand, IN_USE } from '../command-line/command.ts'
import { placeFlags } from '../command-line/options.ts'
import { shown } from '../command-line/output.ts'
import { dataPaths } from '../files/data-folder.ts'
import { realFileSystem } from '../files/file-system.ts'
import { isStandardInput } from '../files/input.ts'
import { openDataFolder } from '../files/owned-folder.ts'
import { onInterruption } from '../service/signals.ts'
import { type Backup, describeBackup, readBackup } from '../state/backup-document.ts'
import { recordCommand } from '../state/command-audit.ts'
import { checkNoNode, isNodeFolder } from '../state/node-folder.ts'
import { replaceState } from '../state/restore.ts'
import { checkOwnFolder } from './chosen-folder.ts'
import { clusterExitCodes, type UsedCluster, usedCluster } from './used-cluster.ts'

/**
 * Replaces the content of the folder, with new signing keys, and keeps the old files aside.
 *
 * Reads the whole backup first. After a crash the folder is as it was, or its next owner completes the restore.
 *
 * It throws {FolderInUseError} {FolderRefusedError} {DamagedFileError} when the folder or the backup cannot be used,
 * and {RestoreFailedError} when the disk fails or is full; then nothing has changed. It throws
 * {RestoreIncompleteError} when the disk fails after the commit.
 */
export const restoreCommand = defineCommand({
  name: 'restore',
  operands: 'FILE',
  otherOperand: '-',
  completes: 'files',
  summary: 'replace the content of the data folder with a backup',
  examples: [
    ['connbook restore backup.json', 'keeps the old files, too'],
    ['connbook restore backup.json --data new', 'makes the folder'],
    ['connbook restore backup.json.gz', 'unpacks it'],
    ['ssh host connbook backup - | connbook restore -', ''],
    ['connbook restore backup.json --etcd URL', 'a cluster'],
  ],
  server: 'stopped',
  notes: [
    'Every session and token ends.',
    'With --etcd it fills a prefix of a cluster that is empty, or in which a restore was interrupted.',
  ],
  flags: placeFlags,
  exitCodes: { ...clusterExitCodes, 65: 'the backup is damaged', 75: IN_USE },
  async run({ options, given, operands: [source = ''] }, context) {
    await checkOwnFolder({ options, given }, context)
    using cluster = usedCluster(options)
    const backup = await readBackup(isStandardInput(source) ? '-' : resolve(source), realFileSystem, context)
    const path = resolve(options.data)
    // A signal may end it: what it has done serves nobody, and the next one removes it.
    if (cluster !== undefined) return await restoreToCluster(backup, cluster, path, context)
    // Ignores signals: the rest is short, and stopping half-way would leave it to the next start.
    const release = onInterruption(() => {})
    try {
      await restore(backup, path, context)
    } finally {
      release()
    }
  },
})

/** @param path If it is the folder of a node, the audit trail there lists the restore. */
async function restoreToCluster(backup: Backup, cluster: UsedCluster, path: string, context: CommandContext) {
  await cluster.restore(backup)
  const folder = dataPaths(path)
  if (await isNodeFolder(folder))
    await recordCommand(context, folder, 'restored', 'restore', { as_of: backup.createdAt })
  const line = `Restored ${describeBackup(backup)} to ${cluster.place}, as they were at ${backup.createdAt}\n`
  const leftOut =
    backup.history === undefined
      ? ''
      : 'The history of the backup is left out: each node of a cluster has its own\n'
  await shown(context.print(line + leftOut), 'show what was done', '; the restore is complete')
}

async function restore(backup: Backup, path: string, context: CommandContext) {
  await checkNoNode(dataPaths(path))
  const folder = await openDataFolder(path)
  let aside: string | undefined
  try {
    aside = await replaceState(folder, backup)
    await recordCommand(context, folder, 'restored', 'restore', { as_of: backup.createdAt })
  } finally {
    folder.release()
  }
  const lines = [
    `Restored ${describeBackup(backup)} to ${folder.path}, as they were at ${backup.createdAt}`,
    ...(aside === undefined ? [] : [`What was there before is in ${aside}`]),
    'Every session and token has ended',
    backup.history === undefined
      ? 'The history begins anew: the backup has none; see connbook help history'
      : 'The history goes on from that of the backup',
  ]
  const printing = context.print(`${lines.join('\n')}\n`)
  await shown(printing, 'show what was done', '; the restore is complete')
}
