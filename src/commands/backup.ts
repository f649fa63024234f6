import { resolve } from 'node:path'
import type { Client } from '../client/client.ts'
import { OtherAnswerError } from '../client/refused.ts'
import { defineCommand, type Screen } from '../command-line/command.ts'
import { folderExitCodes } from '../command-line/exit-codes.ts'
import type { Options } from '../command-line/options.ts'
import { type Print, shown } from '../command-line/output.ts'
import { FolderRefusedError, UsageError } from '../errors.ts'
import { clusterFlags } from '../service/cluster-options.ts'
import { CANNOT_KEEP, checkTarget, writeToFile } from '../state/backup.ts'
import { describeBackup, writeBackup } from '../state/backup-document.ts'
import { connect, folderFlags } from './remote/connect.ts'
import { writeBytes } from './served-export.ts'
import { clusterExitCodes, type UsedCluster, usedCluster } from './used-cluster.ts'
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
  flags: [...folderFlags, ...clusterFlags, 'withHistory'],
  exitCodes: { ...clusterExitCodes, ...folderExitCodes, 0: 'the backup is complete' },
  async run({ options, given, operands: [target = ''] }, context) {
    const { print, screen, opened } = context
    if (options.etcd !== undefined && options.withHistory)
      throw new UsageError(
        '--with-history is for a data folder, not for --etcd: each node has a history of its own',
      )
    using cluster = usedCluster(options)
    const source =
      cluster === undefined
        ? folderSource(await connect({ options, given }, context, 'backup', { isFolderOnly: true }), options)
        : clusterSource(cluster)
    const isReplaced = !isStandardOutput(target) && !(await isStream(target, CANNOT_KEEP))
    if (isReplaced) await checkTarget(resolve(target), source.folder)

    const { what, write } = await source.take()
    // A pipe may have to wait for its reader.
    await opened.letGo()
    if (isStandardOutput(target)) await writeToOutput(write, 'the backup', print)
    else if (!isReplaced) await writeToStream(write, 'the backup', target)
    else {
      using interruption = abortOnSignals()
      await writeToFile(resolve(target), write, interruption.signal)
    }
    await source.complete(screen)
    if (!isReplaced) return
    const line = `Kept ${what} of ${source.place} in ${resolve(target)}\n`
    await shown(print(line), 'show what was done', '; the backup is complete')
  },
})

/** What a backup is taken of. */
interface BackupSource {
  /** For messages. */
  readonly place: string
  /** In which no backup is written. */
  readonly folder: string | undefined
  /** Takes it of one moment. */
  take(): Promise<{ readonly what: string; readonly write: (print: Print) => Promise<void> }>
  /** Says that all of it is written. Never rejects: a failure is only shown. */
  complete(screen: Screen): Promise<void>
}

function clusterSource(cluster: UsedCluster): BackupSource {
  return {
    place: cluster.place,
    folder: undefined,
    async take() {
      const backup = await cluster.takeBackup()
      return { what: describeBackup(backup), write: (print) => writeBackup(backup, print) }
    },
    complete: async () => {},
  }
}

function folderSource(client: Client, { withHistory }: Pick<Options, 'withHistory'>): BackupSource {
  const { name, folder } = client.endpoint
  return {
    place: name,
    folder,
    async take() {
      const path = `/v1/backup${withHistory ? '?history=1' : ''}`
      const { headers, body } = await client.open({ method: 'GET', path })
      const what = headers['connbook-backup']
      if (typeof what === 'string') return { what, write: (print) => writeBytes(body, print) }
      throw new OtherAnswerError(`${name} answers no backup; is its server as new as this connbook?`)
    },
    async complete(screen) {
      try {
        await client.ask({ method: 'POST', path: '/v1/backup/complete' })
      } catch (error) {
        // Where nothing can be written, no server shows it.
        if (error instanceof FolderRefusedError) return
        const reason = error instanceof Error ? error.message : String(error)
        screen.write(
          `connbook: Warning: the backup is complete, but the metrics do not show it (${reason})\n`,
        )
      }
    },
  }
}
