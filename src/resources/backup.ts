import { InvalidInputError } from '../errors.ts'
import { callerKey, JSON_TYPE, type Reply, type Request } from '../http/message.ts'
import { STREAM_PIECE_CHARACTERS } from '../limits.ts'
import type { ShortWorkScheduler } from '../scheduler.ts'
import { backupPieces, describeBackup } from '../state/backup-document.ts'
import type { ServedBackups } from '../state/served-backups.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { parseChoices } from './query.ts'
import { defineResource } from './resource.ts'

/** Records and accounts, and perhaps the history, as `connbook restore` takes them. */
export const backup = defineResource({
  handlers: ({ backups, store, scheduler }) => backupHandlers(backups, store, scheduler),
  routes: [
    { method: 'GET', path: '/v1/backup', access: 'owner', limits: 'same', handler: 'take' },
    { method: 'POST', path: '/v1/backup/complete', access: 'owner', limits: 'same', handler: 'complete' },
  ],
})

const choices = { history: ['0', '1'] } as const

export function backupHandlers(
  backups: ServedBackups,
  store: Pick<ConfigurationStore, 'jsonBytes'>,
  scheduler: ShortWorkScheduler,
) {
  return { take, complete }

  async function take(request: Request): Promise<Reply> {
    const withHistory = parseChoices(request.query, choices).history === '1'
    if (withHistory && !backups.hasWholeHistory)
      throw new InvalidInputError('The query is not valid', [
        { field: 'history', detail: 'is not for a node of a cluster: each node has a history of its own' },
      ])
    const { jsonBytes } = store
    const caller = callerKey(request)
    const taken = await backups.take(withHistory ? (piece) => scheduler.once(caller, piece) : undefined)
    const { revision, count } = taken
    return {
      status: 200,
      headers: {
        'Content-Type': JSON_TYPE,
        'Cache-Control': 'no-store',
        'Connbook-Backup': describeBackup(taken),
      },
      body: backupPieces(taken, STREAM_PIECE_CHARACTERS),
      keeps: { revision, records: count, jsonBytes },
    }
  }

  /** The caller has written all of it where it is kept. */
  async function complete(): Promise<Reply> {
    await backups.keepTime()
    return { status: 204, headers: {} }
  }
}
