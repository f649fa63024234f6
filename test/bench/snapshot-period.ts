import { existsSync, watch } from 'node:fs'
import { join } from 'node:path'
import { dataFiles } from '../../src/files/data-folder.ts'
import { type Period, sharedNow } from './shared-clock.ts'

const DEADLINE_MS = 60_000

/**
 * Resolves, once a snapshot of this data folder is complete, with the time from its first file to its last.
 *
 * @throws {Error} when there is none within a minute.
 */
export async function nextSnapshot(folder: string): Promise<Period> {
  const { promise, resolve, reject } = Promise.withResolvers<Period>()
  const snapshot = join(folder, dataFiles.snapshot)
  const oldJournal = join(folder, dataFiles.journalOld)
  let begin: number | undefined
  let isWritten = false
  const watcher = watch(folder, (_event, name) => {
    // It begins with a new journal; the old one goes when the snapshot has its name.
    if (name?.startsWith(`.${dataFiles.journal}.`)) begin ??= sharedNow()
    if (name === dataFiles.snapshot) isWritten ||= begin !== undefined && existsSync(snapshot)
    if (name === dataFiles.journalOld && begin !== undefined && isWritten && !existsSync(oldJournal)) {
      resolve({ begin, end: sharedNow() })
    }
  })
  watcher.on('error', reject)
  const deadline = setTimeout(
    reject,
    DEADLINE_MS,
    new Error(`No snapshot in "${folder}" in ${DEADLINE_MS} ms`),
  )
  try {
    return await promise
  } finally {
    clearTimeout(deadline)
    watcher.close()
  }
}
