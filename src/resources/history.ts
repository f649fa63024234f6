import { hash } from 'node:crypto'
import type { AllHistory } from '../audit/history-walk.ts'
import type { AskedRecords, RecordHistories } from '../audit/record-history.ts'
import type { Turn } from '../audit/trail-scan.ts'
import { createFairQueue, type FairQueue } from '../fair-queue.ts'
import { isUnchanged } from '../http/header-fields.ts'
import { callerKey, JSON_TYPE, type Reply, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { HISTORY_ENTRIES_DEFAULT, HISTORY_ENTRIES_MAX } from '../limits.ts'
import type { Parameter } from '../openapi/operation.ts'
import type { Scheduler } from '../scheduler.ts'
import { accessOf } from '../store/access.ts'
import type { Configuration } from '../store/configuration.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { type Frozen, firstFrozen } from '../store/sorted-index.ts'
import { inCode } from '../text.ts'
import { json } from './bodies.ts'
import {
  historyOfAllNames,
  historyOfAllParameters,
  nextLink,
  parseHistoryQuery,
  searchOf,
} from './history-query.ts'
import { parseCount } from './list-query.ts'
import { CACHE_CONTROL, checkIfMatch } from './list-reply.ts'
import { nameInPath } from './parameters.ts'
import { checkQuery, parseQuery } from './query.ts'
import { defineResource } from './resource.ts'

/** Histories of one record read at once: each holds the changes of its answer, with up to 64 labels each. */
export const HISTORIES_AT_ONCE_MAX = 2
/** The same of histories for which every line may have to be parsed; they have more changes, too. */
export const LONG_HISTORIES_AT_ONCE_MAX = 1
/** Histories of each of these kinds that wait; one more is refused with 503. */
export const HISTORIES_WAITING_MAX = 1_000

const historyParameters: readonly Parameter[] = [
  nameInPath,
  {
    name: 'limit',
    in: 'query',
    description: `How many changes at most; ${HISTORY_ENTRIES_DEFAULT} without it. Digits without a leading zero.`,
    schema: { type: 'integer', minimum: 1, maximum: HISTORY_ENTRIES_MAX },
  },
]

/** The changes of all records, and those of one. */
export const history = defineResource({
  handlers: ({ store, histories, scheduler, basePath }) =>
    historyHandlers(store, histories, scheduler, basePath),
  dependsOnBasePath: true,
  routes: [
    {
      method: 'GET',
      path: '/v1/history',
      access: 'read',
      limits: 'records',
      summary: `lists the changes of all records, newest first; optional: ${inCode(historyOfAllNames)}`,
      answers: '200 `{"history":[…],"since":…}`, with `Link` if there are more',
      operation: {
        id: 'listHistory',
        tag: 'configurations',
        notes:
          'With filters, the changes of records that the filters keep before or after the change. Without them, changes of many that the audit trail only counts are in it, too. Comes from the audit trail.',
        parameters: historyOfAllParameters,
        isConditional: true,
        answers: {
          200: { description: 'The changes.', headers: ['ETag', 'Link?'], content: json('HistoryOfAll') },
        },
        problems: ['overloaded', 'trail_unavailable'],
      },
      handler: 'list',
    },
    {
      method: 'GET',
      path: '/v1/history/:name',
      access: 'read',
      limits: 'records',
      summary: 'lists the changes of one record, newest first, even of a deleted one; optional: `limit`',
      answers: '200 `{"history":[…],"since":…}`; 404',
      operation: {
        id: 'getHistory',
        tag: 'configurations',
        notes:
          'Of the record that has the name, or else of the last one that had it; across renames. Comes from the audit trail.',
        parameters: historyParameters,
        isConditional: true,
        answers: {
          200: { description: 'The changes.', headers: ['ETag'], content: json('History') },
        },
        problems: ['unknown_name', 'overloaded', 'trail_unavailable'],
      },
      handler: 'read',
    },
  ],
})

export function historyHandlers(
  store: ConfigurationStore,
  histories: Pick<RecordHistories, keyof RecordHistories>,
  scheduler: Pick<Scheduler, 'once'>,
  basePath = '',
) {
  const createQueue = (runningMax: number) =>
    createFairQueue(runningMax, HISTORIES_WAITING_MAX, 'Too many histories are being read; try again later')
  // A history that is found by an id takes some milliseconds, and does not wait for those that may take seconds.
  const short = createQueue(HISTORIES_AT_ONCE_MAX)
  const long = createQueue(LONG_HISTORIES_AT_ONCE_MAX)
  return { list, read }

  async function list(request: Request): Promise<Reply> {
    const access = accessOf(request)
    const storeId = access === undefined ? store.id : access.storeOf(store.id)
    const asked = parseHistoryQuery(request.query, storeId, Date.now())
    const search = searchOf(asked, access)
    return inTurn(long, request, async (now, turn) => {
      const records = search.keeps === undefined ? { leaves: [] } : store.freeze()
      const find = (id: number) => findById(records, id)
      const found = await histories.readAll(now, search, find, turn)
      const { entries, since, next } = found
      const link =
        next === undefined ? {} : { Link: nextLink(`${basePath}/v1/history`, storeId, asked, next) }
      return reply(request, textOf({ entries, since }), link)
    })
  }

  async function read(request: Request, name: string): Promise<Reply> {
    const limit = parseLimit(request.query)
    const access = accessOf(request)
    return inTurn(access === undefined ? short : long, request, async (now, turn) => {
      if (access !== undefined) {
        const records = store.freeze()
        const present = access.seenOf(store.find(name))
        const find = (id: number) => findById(records, id)
        const found = await histories.readSeen(now, { name, access, limit }, present, find, turn)
        if (found === undefined) throw unknownName(name)
        return reply(request, textOf(found))
      }
      const id = store.find(name)?.id ?? (await histories.findLastHolder(now, name, turn))
      if (id !== undefined) return reply(request, JSON.stringify(await histories.read(now, id, limit, turn)))
      throw unknownName(name)
    })
  }

  /** @param answer Gets the moment of the question: the records do not change before it waits. */
  async function inTurn(
    queue: FairQueue,
    request: Request,
    answer: (now: AskedRecords, turn: Turn) => Promise<Reply>,
  ): Promise<Reply> {
    await queue.enter([callerKey(request)])
    try {
      request.signal.throwIfAborted()
      // A large import shows in the records before the trail has heard of all its changes.
      while (store.recent.revision < store.revision) {
        await nextChange(store)
        request.signal.throwIfAborted()
      }
      const turn = async <Result>(piece: () => Result): Promise<Result> => {
        request.signal.throwIfAborted()
        return scheduler.once(callerKey(request), piece)
      }
      return await answer({ store: store.id, revision: store.recent.changedAt }, turn)
    } finally {
      queue.leave()
    }
  }
}

function unknownName(name: string): Problem {
  return new Problem('unknown_name', `No configuration is named "${name}", and none is known to have been`)
}

/** @param records By rising id. */
function findById(records: Pick<Frozen<Configuration>, 'leaves'>, id: number): Configuration | undefined {
  const record = firstFrozen(records, (one) => one.id >= id)
  return record?.id === id ? record : undefined
}

function textOf({ entries, since }: Pick<AllHistory, 'entries' | 'since'>): string {
  return `{"history":[${entries.join(',')}],"since":"${since}"}`
}

/** Resolves when the store reports a change. */
function nextChange(store: Pick<ConfigurationStore, 'onDurable'>): Promise<void> {
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

function reply(request: Request, body: string, more: Reply['headers'] = {}): Reply {
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`
  checkIfMatch(request, etag)
  const headers = { 'Cache-Control': CACHE_CONTROL, ETag: etag, ...more }
  if (isUnchanged(request.headers['if-none-match'], etag)) return { status: 304, headers }
  return { status: 200, headers: { 'Content-Type': JSON_TYPE, ...headers }, body }
}
