import type { Clock, ClockFloor } from '../auth/clock.ts'
import { EndedCredentials, type Revocations } from '../auth/ended-credentials.ts'
import { throwForCaller } from '../auth/live-accounts.ts'
import type { KeyValue, WatchEvent } from './messages.ts'
import type { Revoked, RevokedKeys } from './revoked-keys.ts'

const SWEEP_SIZE_MIN = 1_000

/** The revocations of a cluster: etcd keeps them, and each node knows all of them. */
export class EtcdRevocations implements Revocations {
  readonly clock: Clock
  /** Always: whether etcd takes changes shows at the records. */
  readonly isWritable = true
  readonly #keys: RevokedKeys
  readonly #floor: ClockFloor
  readonly #ended = new EndedCredentials()
  /** Expired ones are looked for when there are so many. */
  #sweepDueSize = SWEEP_SIZE_MIN

  /** @param floor The node's own; it is closed with this. */
  constructor(keys: RevokedKeys, floor: ClockFloor) {
    this.clock = floor.clock
    this.#keys = keys
    this.#floor = floor
  }

  has(jti: string): boolean {
    return this.#ended.has(jti)
  }

  async add(jti: string, exp: number): Promise<void> {
    const arrived = this.#ended.expect(jti)
    try {
      await this.#keys.add({ jti, exp }, this.#now)
      this.#know({ jti, exp })
    } catch (error) {
      throwForCaller('Cannot end the credential', error)
    } finally {
      arrived()
    }
  }

  hasRoom(generation: number): boolean {
    return this.#ended.hasRoom(generation, this.#now)
  }

  /** etcd forgets them when they expire. */
  dropGeneration(generation: number): void {
    this.#ended.dropGeneration(generation)
  }

  /** Takes what is stored. What is not there any more stays ended: an older state of etcd revives no credential. */
  load(stored: readonly KeyValue[]): void {
    for (const kv of stored) this.#know(this.#keys.parse(kv))
  }

  /** Takes the events of the watch, of any key. */
  take(events: readonly WatchEvent[]): void {
    for (const event of events) {
      const revoked = this.#keys.added(event)
      if (revoked !== undefined) this.#know(revoked)
    }
  }

  rememberExpired(exp: number): void {
    this.#floor.rememberExpired(exp)
  }

  get remembering(): Promise<void> | undefined {
    return this.#floor.remembering
  }

  close(): Promise<void> {
    return this.#floor.close()
  }

  get #now(): number {
    return Math.floor(this.clock.now() / 1000)
  }

  #know({ jti, exp }: Revoked) {
    const now = this.#now
    if (exp <= now) return
    this.#ended.add(jti, exp)
    if (this.#ended.size < this.#sweepDueSize) return
    this.#ended.dropExpired(now)
    this.#sweepDueSize = Math.max(SWEEP_SIZE_MIN, 2 * this.#ended.size)
  }
}
