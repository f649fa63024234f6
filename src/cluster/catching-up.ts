import { StorageUnavailableError } from '../errors.ts'
import { CLUSTER_CHANGE_MS } from './settled-transaction.ts'

interface Waiter {
  readonly revision: number
  readonly resolve: () => void
}

/** Who waits until everything up to a revision has been taken. */
export class RevisionWaiters {
  #waiters: readonly Waiter[] = []

  /** Resolves when `wake` finds the revision reached. @throws {StorageUnavailableError} after CLUSTER_CHANGE_MS. */
  wait(revision: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      this.#waiters = this.#waiters.filter((one) => one !== waiter)
      reject(
        new StorageUnavailableError(
          'Cannot get the newest records: etcd does not send their changes; try later',
        ),
      )
    }, CLUSTER_CHANGE_MS)
    const waiter = {
      revision,
      resolve: () => {
        clearTimeout(timer)
        resolve()
      },
    }
    this.#waiters = [...this.#waiters, waiter]
    return promise
  }

  wake(isReached: (revision: number) => boolean): void {
    const { reached = [], others = [] } = Object.groupBy(this.#waiters, ({ revision }) =>
      isReached(revision) ? 'reached' : 'others',
    )
    this.#waiters = others
    for (const { resolve } of reached) resolve()
  }
}

/** A question that many ask at once. Calls share one that has not been sent yet, never one that has: its answer may be old. */
export class SharedQuestion<Answer> {
  readonly #send: () => Promise<Answer>
  #asking: Promise<Answer> | undefined
  /** Waits until the first is answered. */
  #askingNext: Promise<Answer> | undefined

  constructor(send: () => Promise<Answer>) {
    this.#send = send
  }

  ask(): Promise<Answer> {
    if (this.#asking === undefined) {
      this.#asking = this.#send().finally(() => {
        this.#asking = undefined
      })
      return this.#asking
    }
    this.#askingNext ??= this.#asking
      .catch(() => {})
      .then(() => {
        this.#askingNext = undefined
        return this.ask()
      })
    return this.#askingNext
  }
}
