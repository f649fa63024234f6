import assert from 'node:assert/strict'
import { EtcdError, type EtcdReason } from '../../src/storage/etcd/etcd-error.ts'
import type { Gateway } from '../../src/storage/etcd/gateway.ts'
import type {
  KeyValue,
  OperationAnswer,
  RangeAnswer,
  Transaction,
  TransactionAnswer,
  WatchEvent,
} from '../../src/storage/etcd/messages.ts'
import { rangeBody, transactionBody } from '../../src/storage/etcd/requests.ts'

/** What a test makes of a transaction: its answer or its request is lost, or etcd refuses it. */
export type Mishap = 'answer lost' | 'request lost' | EtcdReason

/** etcd in memory, as far as small documents and revocations need it. */
export interface MemoryEtcd extends Gateway {
  readonly revision: number
  /** Called before each transaction. */
  before: () => Mishap | undefined | Promise<Mishap | undefined>
  /** Called with what each transaction has changed. */
  onEvents: (events: readonly WatchEvent[]) => void
  readonly leases: Map<string, number>
  /** The value of a key. */
  valueOf(key: string): string | undefined
  put(key: string, value: string): Promise<void>
  remove(key: string): void
  /** Forgets all values that are not the newest. */
  compact(): void
}

interface State {
  readonly revision: number
  readonly kvs: ReadonlyMap<string, KeyValue>
}

export function createMemoryEtcd(): MemoryEtcd {
  let states: State[] = [{ revision: 1, kvs: new Map() }]
  let lastLease = 0
  const latest = () => states.at(-1) ?? assert.fail()
  const fail = (reason: EtcdReason, isUndone: boolean) =>
    new EtcdError(etcd.endpoint, reason, `made by the test: ${reason}`, { isUndone })

  const etcd: MemoryEtcd = {
    endpoint: 'http://127.0.0.1:2379',
    get revision() {
      return latest().revision
    },
    before: () => undefined,
    onEvents: () => {},
    leases: new Map(),
    valueOf: (key) => latest().kvs.get(key)?.value,
    async put(key, value) {
      const operation = { request_put: { key: base64(key), value: base64(value) } }
      commit([operation as Json])
    },
    remove(key) {
      const { revision, kvs } = latest()
      const left = new Map(kvs)
      left.delete(key)
      states.push({ revision: revision + 1, kvs: left })
      etcd.onEvents([{ kind: 'delete', key, modRevision: revision + 1, previous: kvs.get(key) }])
    },
    compact() {
      states = [latest()]
    },
    useNext() {},
    close() {},
    async range(query) {
      return range(JSON.parse(rangeBody(query)) as Json)
    },
    async transact(transaction) {
      const mishap = await etcd.before()
      if (mishap === 'request lost') throw fail('timed_out', false)
      if (mishap !== undefined && mishap !== 'answer lost') throw fail(mishap, true)
      const answer = transact(transaction)
      if (mishap === 'answer lost') throw fail('unreachable', false)
      return answer
    },
    async grantLease(ttlSeconds) {
      const id = String(++lastLease)
      etcd.leases.set(id, ttlSeconds)
      return id
    },
    watch: () => assert.fail('a test hands events over itself'),
  }
  return etcd

  function transact(transaction: Transaction): TransactionAnswer {
    const body = JSON.parse(transactionBody(transaction)) as Record<'compare' | 'success' | 'failure', Json[]>
    const succeeded = body.compare.every(holds)
    const answers = commit(succeeded ? body.success : body.failure)
    return { revision: latest().revision, succeeded, answers }
  }

  function holds({ target, result, key, mod_revision: revision }: Json): boolean {
    assert.deepEqual([target, result], ['MOD', 'EQUAL'])
    return (latest().kvs.get(text(key))?.modRevision ?? 0) === Number(revision)
  }

  function commit(operations: readonly Json[]): OperationAnswer[] {
    const revision = latest().revision + 1
    const kvs = new Map(latest().kvs)
    const events: WatchEvent[] = []
    const answers = operations.map((operation): OperationAnswer => {
      const { request_put: put, request_range: asked } = operation
      if (asked !== undefined) return { kind: 'range', range: range(asked as Json, { revision, kvs }) }
      const { key, value, lease } = put as Json
      if (lease !== undefined && !etcd.leases.has(String(lease))) throw fail('no_lease', true)
      const before = kvs.get(text(key))
      const kv = {
        key: text(key),
        value: text(value),
        createRevision: before?.createRevision ?? revision,
        modRevision: revision,
        version: (before?.version ?? 0) + 1,
        lease: lease === undefined ? undefined : String(lease),
      }
      kvs.set(kv.key, kv)
      events.push({ kind: 'put', kv, previous: before })
      return { kind: 'put' }
    })
    if (events.length > 0) {
      states.push({ revision, kvs })
      etcd.onEvents(events)
    }
    return answers
  }

  function range({ key, range_end: end, revision, limit }: Json, now = latest()): RangeAnswer {
    const at = revision === undefined ? now.revision : Number(revision)
    const state = at === now.revision ? now : states.findLast((each) => each.revision <= at)
    if (state === undefined) throw fail('compacted', true)
    const isIn = (each: string) =>
      end === undefined ? each === text(key) : each >= text(key) && each < text(end)
    const found = [...state.kvs.values()]
      .filter((kv) => isIn(kv.key))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
    const kvs = found.slice(0, limit === undefined ? undefined : Number(limit))
    return { revision: now.revision, kvs, more: kvs.length < found.length, count: found.length }
  }
}

type Json = Readonly<Record<string, unknown>>

function base64(input: string): string {
  return Buffer.from(input).toString('base64')
}

function text(input: unknown): string {
  return Buffer.from(String(input), 'base64').toString()
}
