import { hash } from 'node:crypto'
import type { RecordHistories } from '../audit/record-history.ts'
import { createFairQueue } from '../auth/fair-queue.ts'
import { isUnchanged } from '../http/conditional.ts'
import { callerKey, JSON_TYPE, type Reply, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import {
  HISTORIES_AT_ONCE_MAX,
  HISTORIES_WAITING_MAX,
  HISTORY_ENTRIES_DEFAULT,
  HISTORY_ENTRIES_MAX,
} from '../limits.ts'
import type { Scheduler } from '../scheduler.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { parseCount } from './list-query.ts'
import { CACHE_CONTROL, checkIfMatch } from './list-reply.ts'
import { checkQuery, parseQuery } from './query.ts'

export function historyHandlers(
  store: ConfigurationStore,
  histories: RecordHistories,
  scheduler: Pick<Scheduler, 'once'>,
) {
  const queue = createFairQueue(
    HISTORIES_AT_ONCE_MAX,
    HISTORIES_WAITING_MAX,
    'Too many histories are being read; try again later',
  )
  return { read }

  async function read(request: Request, name: string): Promise<Reply> {
    const limit = parseLimit(request.query)
    await queue.enter(callerKey(request))
    try {
      return reply(request, JSON.stringify(await find(request, name, limit)))
    } finally {
      queue.leave()
    }
  }

  async function find(request: Request, name: string, limit: number) {
    request.signal.throwIfAborted()
    const turn = async <Result>(piece: () => Result): Promise<Result> => {
      request.signal.throwIfAborted()
      return scheduler.once(callerKey(request), piece)
    }
    // A large import shows in the records before the trail has heard of all its changes.
    while (store.recent.revision < store.revision) {
      await nextTold(store)
      request.signal.throwIfAborted()
    }
    const asked = { store: store.id, revision: store.recent.changedAt }
    const id = store.find(name)?.id ?? (await histories.findLastHolder(asked, name, turn))
    if (id !== undefined) return histories.read(asked, id, limit, turn)
    throw new Problem('unknown_name', `No configuration is named "${name}", and none is known to have been`)
  }
}

/** Resolves when the store tells a change. */
function nextTold(store: Pick<ConfigurationStore, 'onDurable'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const leave = store.onDurable(() => {
    leave()
    resolve()
  })
  return promise
}

function parseLimit(text: string): number {
  const query = parseQuery(text, ['limit'])
  const limit = parseCount(query, 'limit', 1, HISTORY_ENTRIES_MAX)
  checkQuery(query)
  return limit ?? HISTORY_ENTRIES_DEFAULT
}

function reply(request: Request, body: string): Reply {
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`
  checkIfMatch(request, etag)
  const headers = { 'Cache-Control': CACHE_CONTROL, ETag: etag }
  if (isUnchanged(request.headers['if-none-match'], etag)) return { status: 304, headers }
  return { status: 200, headers: { 'Content-Type': JSON_TYPE, ...headers }, body }
}
