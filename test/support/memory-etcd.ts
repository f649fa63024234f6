import assert from 'node:assert/strict'
import { EtcdError, type EtcdReason } from '../../src/cluster/etcd-error.ts'
import type { Gateway, Watched } from '../../src/cluster/gateway.ts'
import {
  type KeyValue,
  type OperationAnswer,
  type RangeAnswer,
  rangeBody,
  type Transaction,
  type TransactionAnswer,
  transactionBody,
  type WatchEvent,
  type WatchMessage,
} from '../../src/cluster/messages.ts'

/** What a test makes of a transaction: its answer or its request is lost, or etcd refuses it. */
export type Mishap = 'answer lost' | 'request lost' | EtcdReason

/** etcd in memory, as far as connbook needs it. */
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
  /** Goes back to an earlier revision, as from a snapshot: all watches break. */
  restore(revision: number): void
  /** From now on, the watches that run report nothing, and do not end. */
  hushWatches(): void
}

interface State {
  readonly revision: number
  readonly kvs: ReadonlyMap<string, KeyValue>
  readonly events: readonly WatchEvent[]
}

interface Listener {
  isHushed: boolean
  /** Looks whether there is more to report. */
  wake: () => void
  broken: boolean
}

export function createMemoryEtcd(): MemoryEtcd {
  let states: State[] = [{ revision: 1, kvs: new Map(), events: [] }]
  let lastLease = 0
  let compacted = 0
  const listeners = new Set<Listener>()
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
      add(revision + 1, left, [{ kind: 'delete', key, modRevision: revision + 1, previous: kvs.get(key) }])
    },
    compact() {
      states = [latest()]
      compacted = latest().revision
    },
    restore(revision) {
      states = states.filter((state) => state.revision <= revision)
      for (const listener of listeners) {
        listener.broken = true
        listener.wake()
      }
    },
    hushWatches() {
      for (const listener of listeners) listener.isHushed = true
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
    watch,
  }
  return etcd

  function add(revision: number, kvs: ReadonlyMap<string, KeyValue>, events: readonly WatchEvent[]) {
    states.push({ revision, kvs, events })
    etcd.onEvents(events)
    for (const { wake } of listeners) wake()
  }

  async function* watch({ fromRevision, signal }: Watched): AsyncGenerator<WatchMessage> {
    signal.throwIfAborted()
    const listener: Listener = { isHushed: false, wake: () => {}, broken: false }
    listeners.add(listener)
    const abort = () => listener.wake()
    signal.addEventListener('abort', abort)
    try {
      yield { kind: 'created', revision: latest().revision }
      if (fromRevision < compacted) yield { kind: 'compacted', compactRevision: compacted }
      for (let told = fromRevision - 1; ; ) {
        const { promise, resolve } = Promise.withResolvers<void>()
        listener.wake = resolve
        const news = listener.isHushed ? [] : states.filter(({ revision }) => revision > told)
        const { revision } = latest()
        told = Math.max(told, revision)
        const events = news.flatMap((state) => state.events)
        if (events.length > 0) yield { kind: 'events', revision, events }
        else await promise
        signal.throwIfAborted()
        if (listener.broken) throw fail('unreachable', true)
      }
    } finally {
      signal.removeEventListener('abort', abort)
      listeners.delete(listener)
    }
  }

  function transact(transaction: Transaction): TransactionAnswer {
    const body = JSON.parse(transactionBody(transaction)) as Branches
    const succeeded = body.compare.every(holds)
    const answers = commit(succeeded ? body.success : body.failure)
    return { revision: latest().revision, succeeded, answers }
  }

  function holds({ target, result, key, range_end: end, mod_revision: revision, value }: Json): boolean {
    const { kvs } = latest()
    const kv = kvs.get(text(key))
    if (target === undefined) return kv === undefined
    if (target === 'VALUE') return kv?.value === text(value)
    assert.equal(target, 'MOD')
    if (result === 'EQUAL') return (kv?.modRevision ?? 0) === Number(revision)
    assert.equal(result, 'LESS')
    const isIn = (each: KeyValue) => each.key >= text(key) && each.key < text(end)
    return ![...kvs.values()].some((each) => isIn(each) && each.modRevision >= Number(revision))
  }

  function commit(operations: readonly Json[]): OperationAnswer[] {
    const revision = latest().revision + 1
    const kvs = new Map(latest().kvs)
    const events: WatchEvent[] = []
    const perform = (operation: Json): OperationAnswer => {
      const { request_put: put, request_range: asked, request_txn: inner } = operation
      const { request_delete_range: removed } = operation
      if (asked !== undefined)
        return { kind: 'range', range: range(asked as Json, { revision, kvs, events }) }
      if (inner !== undefined) {
        const body = inner as Branches
        const succeeded = body.compare.every(holds)
        const answers = (succeeded ? body.success : body.failure).map(perform)
        return { kind: 'transaction', transaction: { revision: 0, succeeded, answers } }
      }
      if (removed !== undefined) {
        const { kvs: gone } = range(removed as Json, { revision, kvs, events })
        for (const previous of gone) {
          kvs.delete(previous.key)
          events.push({ kind: 'delete', key: previous.key, modRevision: revision, previous })
        }
        return { kind: 'delete', deleted: gone.length }
      }
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
    }
    const answers = operations.map(perform)
    if (events.length > 0) add(revision, kvs, events)
    return answers
  }

  function range(asked: Json, now = latest()): RangeAnswer {
    const { key, range_end: end, revision, limit, sort_target: target } = asked
    const at = revision === undefined ? now.revision : Number(revision)
    const state = at === now.revision ? now : states.findLast((each) => each.revision <= at)
    if (state === undefined) throw fail('compacted', true)
    const isIn = (each: string) =>
      end === undefined ? each === text(key) : each >= text(key) && each < text(end)
    const found = [...state.kvs.values()]
      .filter((kv) => isIn(kv.key))
      .sort((a, b) => (target === 'MOD' ? b.modRevision - a.modRevision : a.key < b.key ? -1 : 1))
    const kvs = found.slice(0, limit === undefined ? undefined : Number(limit))
    return { revision: now.revision, kvs, more: kvs.length < found.length, count: found.length }
  }
}

type Json = Readonly<Record<string, unknown>>
type Branches = Record<'compare' | 'success' | 'failure', Json[]>

function base64(input: string): string {
  return Buffer.from(input).toString('base64')
}

function text(input: unknown): string {
  return Buffer.from(String(input), 'base64').toString()
}
