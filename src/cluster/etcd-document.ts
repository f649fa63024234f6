import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { ConnbookError, OutcomeUnknownError, StorageUnavailableError } from '../errors.ts'
import {
  type DocumentForm,
  decodeDocument,
  encodeDocument,
  versionOfDocument,
} from '../files/json-document.ts'
import { DocumentBusyError, type DocumentReader, type SharedDocument } from '../files/shared-document.ts'
import { LOCK_WAIT_MS } from '../limits.ts'
import { ClusterRefusedError, missingKey, refusedKey } from './cluster-error.ts'
import { EtcdError } from './etcd-error.ts'
import type { Gateway } from './gateway.ts'
import {
  type KeyValue,
  modIs,
  type OperationAnswer,
  put,
  type RangeAnswer,
  read,
  type WatchEvent,
} from './messages.ts'
import { type Sealer, WrongKeyFileError } from './sealed-text.ts'
import {
  callUntilSettled,
  changeEnd,
  LOST_PAUSE_MS_MAX,
  transactUntilSettled,
} from './settled-transaction.ts'

export interface EtcdDocumentOptions<Content> {
  readonly gateway: Gateway
  readonly key: string
  /** For errors and the log. */
  readonly name: 'accounts' | 'keys'
  readonly form: DocumentForm<Content>
  /** Keeps the value secret; undefined for plain text. */
  readonly sealer?: Sealer | undefined
  /**
   * The oldest version of the form that can hold a content. A change keeps the version that it finds, if it can: nodes of an
   * older connbook may read no other. Absent if there is one version.
   */
  readonly oldestVersion?: (content: Content) => number
}

/** A document that is the value of one key. Its followers hear what the owner of the watch hands over. */
export class EtcdDocument<Content> implements SharedDocument<Content> {
  readonly key: string
  readonly #gateway: Gateway
  readonly #name: 'accounts' | 'keys'
  readonly #form: DocumentForm<Content>
  readonly #sealer: Sealer | undefined
  readonly #oldestVersion: ((content: Content) => number) | undefined
  readonly #followers = new Set<(kv: KeyValue | undefined) => void>()
  /** The newest value known here; undefined if none is, or the key is gone. */
  #newest: KeyValue | undefined
  /** No event up to this revision says anything new. */
  #revision = 0

  constructor({ gateway, key, name, form, sealer, oldestVersion }: EtcdDocumentOptions<Content>) {
    this.#gateway = gateway
    this.key = key
    this.#name = name
    this.#form = form
    this.#sealer = sealer
    this.#oldestVersion = oldestVersion
  }

  /** The value for a content. @param found A value whose version is kept, if it can hold the content. */
  encode(content: Content, found?: Pick<KeyValue, 'value'>): string {
    const text = encodeDocument(this.#form, content, this.#versionFor(content, found))
    return this.#sealer === undefined ? text : this.#sealer.seal(text, this.key)
  }

  #versionFor(content: Content, found: Pick<KeyValue, 'value'> | undefined): number | undefined {
    if (found === undefined || this.#oldestVersion === undefined) return undefined
    return Math.max(versionOfDocument(found.value), this.#oldestVersion(content))
  }

  /** @throws {ClusterRefusedError} if the value cannot be read. {WrongKeyFileError} */
  decode({ value }: Pick<KeyValue, 'value'>): Content {
    try {
      const text = this.#sealer === undefined ? value : this.#sealer.open(value, this.key)
      return decodeDocument(this.#form, text)
    } catch (error) {
      if (error instanceof WrongKeyFileError) throw new WrongKeyFileError(error.path, this.#gateway.endpoint)
      throw error instanceof ConnbookError ? error : refusedKey(this.key, this.#gateway, error)
    }
  }

  /** @throws {StorageUnavailableError} if etcd does not answer. Also what `decode` throws. */
  async read(): Promise<Content> {
    return this.decode(await this.#get())
  }

  async edit(
    change: (found: Content) => Content | Promise<Content>,
    afterwards?: () => Promise<void>,
  ): Promise<{ before: Content; after: Content }> {
    const lastTry = performance.now() + LOCK_WAIT_MS
    const end = changeEnd()
    for (let found = await this.#getUntil(end); ; ) {
      const before = this.decode(found)
      const after = await change(before)
      if (after === before) return { before, after }
      const { isDone, now } = await this.#replace(found, this.encode(after, found), end)
      if (isDone) {
        await afterwards?.()
        return { before, after }
      }
      if (performance.now() >= lastTry)
        throw new DocumentBusyError(
          `Cannot change the ${this.#name} in etcd: others change them all the time; try again later`,
        )
      found = now
      // Without it one of two that begin together may lose each time.
      await setTimeout(Math.random() * LOST_PAUSE_MS_MAX)
    }
  }

  follow({ content, takeUp, findFault, log }: DocumentReader<Content>): () => void {
    let current = content
    let toldReason: string | undefined
    const inForce = { in_force: `the ${this.#name} from before` }
    /** Logs each reason once in a row. */
    const tell = (error: unknown) => {
      const reason = String(error)
      if (reason !== toldReason) log.error(`${this.#name}_reload_failed`, { reason, ...inForce })
      toldReason = reason
    }
    const compare = (kv: KeyValue) => {
      const changed = this.decode(kv)
      toldReason = undefined
      if (isDeepStrictEqual(changed, current)) return
      const fault = findFault?.(changed)
      if (fault !== undefined) throw new ClusterRefusedError(this.#faultText(fault))
      current = changed
      takeUp(changed)
    }
    const hear = (kv: KeyValue | undefined) => {
      if (kv === undefined) return log.error(`${this.#name}_missing`, { file: this.key, ...inForce })
      try {
        compare(kv)
      } catch (error) {
        tell(error)
      }
    }
    this.#followers.add(hear)
    // It may have changed since `content` was read.
    if (this.#newest !== undefined) hear(this.#newest)
    return () => this.#followers.delete(hear)
  }

  /** Takes what a reading of the whole prefix has found, also if it is older than what was known: etcd was restored. */
  load(kv: KeyValue): void {
    this.#revision = kv.modRevision
    this.#hear(kv)
  }

  /** Takes an event of the watch; others than those of its key are ignored. */
  take(event: WatchEvent): void {
    const [key, revision] =
      event.kind === 'put' ? [event.kv.key, event.kv.modRevision] : [event.key, event.modRevision]
    if (key !== this.key || revision <= this.#revision) return
    this.#revision = revision
    this.#hear(event.kind === 'put' ? event.kv : undefined)
  }

  /** Takes an answer of etcd, which may be behind the watch. */
  takeNewer(kv: KeyValue): void {
    this.take({ kind: 'put', kv, previous: undefined })
  }

  #hear(kv: KeyValue | undefined): void {
    this.#newest = kv
    for (const hear of this.#followers) hear(kv)
  }

  /** The value as it is now. @throws {StorageUnavailableError} if etcd does not answer. {ClusterRefusedError} */
  async #get(): Promise<KeyValue> {
    try {
      return this.#found(await this.#gateway.range({ key: this.key }))
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      throw new StorageUnavailableError(`Cannot read the ${this.#name}: ${error.message}`, { cause: error })
    }
  }

  /** The same, but waits for an etcd that does not answer. */
  async #getUntil(end: number): Promise<KeyValue> {
    return this.#found(await this.#rangeUntil(end))
  }

  async #rangeUntil(end: number, revision?: number): Promise<RangeAnswer> {
    const query = { key: this.key, ...(revision === undefined ? {} : { revision }) }
    const what = `the ${this.#name}`
    const range = () => this.#gateway.range(query)
    return (await callUntilSettled(range, { what, end, isChange: false })).answer
  }

  #found({ kvs: [kv] }: RangeAnswer): KeyValue {
    if (kv === undefined) throw missingKey(this.key, this.#gateway)
    this.takeNewer(kv)
    return kv
  }

  /**
   * Replaces one value by another.
   *
   * @returns Whether that is done, and the value that is there now.
   * @throws as `transactUntilSettled` does.
   */
  async #replace(found: KeyValue, value: string, end: number): Promise<{ isDone: boolean; now: KeyValue }> {
    const transaction = {
      compare: [modIs(this.key, found.modRevision)],
      success: [put(this.key, value), read({ key: this.key })],
      failure: [read({ key: this.key })],
    }
    const what = `the ${this.#name}`
    const { answer, isRepeated } = await transactUntilSettled(this.#gateway, transaction, what, end)
    const now = valueIn(answer.answers.at(-1))
    if (now === undefined) throw missingKey(this.key, this.#gateway)
    this.takeNewer(now)
    const isDone = answer.succeeded || (isRepeated && (await this.#isNext(found, value, now, end)))
    return { isDone, now }
  }

  /** Whether the first value after `found` is one that was sent without an answer; others may have come since. */
  async #isNext(found: KeyValue, value: string, now: KeyValue, end: number): Promise<boolean> {
    const unknown = (cause?: unknown) =>
      new OutcomeUnknownError(`Cannot tell whether the ${this.#name} changed: etcd does not tell its past`, {
        cause,
      })
    let kv: KeyValue | undefined = now
    try {
      while (kv !== undefined && kv.version > found.version + 1) {
        const revision: number = kv.modRevision - 1
        kv = (await this.#rangeUntil(end, revision)).kvs[0]
      }
    } catch (error) {
      throw unknown(error)
    }
    // The key was removed meanwhile, and with it the count of its values.
    if (kv?.version !== found.version + 1 || kv.createRevision !== found.createRevision) throw unknown()
    return kv.value === value
  }

  #faultText({ reason, advice }: { reason: string; advice: string }): string {
    return `Cannot read the key "${this.key}" of etcd at ${this.#gateway.endpoint}: ${reason}; ${advice}`
  }
}

function valueIn(answer: OperationAnswer | undefined): KeyValue | undefined {
  return answer?.kind === 'range' ? answer.range.kvs[0] : undefined
}
