import { setTimeout } from 'node:timers/promises'
import { OutcomeUnknownError, StorageFullError, StorageUnavailableError } from '../errors.ts'
import { EtcdError } from './etcd-error.ts'
import { type Gateway, isPassing } from './gateway.ts'
import type { Transaction, TransactionAnswer } from './messages.ts'

/** How long a change waits for etcd in all. */
export const CLUSTER_CHANGE_MS = 10_000
/** Before a change is sent again that had no answer. */
export const ETCD_RETRY_PAUSE_MS = 50
/** Before a change that lost to another node is tried again, at random up to this: without it, one node starves. */
export const LOST_PAUSE_MS_MAX = 10

export interface Settled<Answer> {
  readonly answer: Answer
  /** Whether an earlier attempt, whose answer was lost, may have been done. */
  readonly isRepeated: boolean
}

/** As `callUntilSettled`, for a transaction that changes something. */
export function transactUntilSettled(
  gateway: Gateway,
  transaction: Transaction,
  what: string,
  end = changeEnd(),
): Promise<Settled<TransactionAnswer>> {
  return callUntilSettled(() => gateway.transact(transaction), { what, end, isChange: true })
}

/** When a change that begins now is given up, by the monotonic clock. */
export function changeEnd(): number {
  return performance.now() + CLUSTER_CHANGE_MS
}

/**
 * Makes a call until etcd answers. It must do no harm when it is done twice.
 *
 * @param what How the errors name it: "the accounts".
 * @param end As `changeEnd`.
 * @param isChange Whether it changes what the errors speak of; if not, nothing was done if it fails.
 * @throws {StorageFullError} {StorageUnavailableError} if nothing was done.
 * @throws {OutcomeUnknownError} if it may have been done.
 * @throws {EtcdError} if its lease has ended.
 */
export async function callUntilSettled<Answer>(
  call: () => Promise<Answer>,
  { what, end, isChange }: { readonly what: string; readonly end: number; readonly isChange: boolean },
): Promise<Settled<Answer>> {
  let isRepeated = false
  // What is too large now was too large before, too.
  const mayBeDone = ({ reason }: EtcdError) => isRepeated && reason !== 'too_large'
  for (;;) {
    try {
      return { answer: await call(), isRepeated }
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      if (error.reason === 'no_lease') throw error
      isRepeated ||= isChange && !error.isUndone
      if (!isPassing(error) || performance.now() >= end) throw asStorageError(error, what, mayBeDone(error))
    }
    await setTimeout(ETCD_RETRY_PAUSE_MS)
  }
}

/** @param mayBeDone Whether the change may have been made. */
export function asStorageError(error: EtcdError, what: string, mayBeDone: boolean) {
  const options = { cause: error }
  if (mayBeDone)
    return new OutcomeUnknownError(`Cannot tell whether ${what} changed: ${error.message}`, options)
  const message = `Cannot change ${what}: ${error.message}`
  return error.reason === 'no_space' || error.reason === 'too_large'
    ? new StorageFullError(message, options)
    : new StorageUnavailableError(message, options)
}
