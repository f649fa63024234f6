import { setTimeout } from 'node:timers/promises'
import { OutcomeUnknownError, StorageFullError, StorageUnavailableError } from '../../errors.ts'
import { CLUSTER_CHANGE_MS, ETCD_RETRY_PAUSE_MS } from '../../limits.ts'
import { EtcdError } from './etcd-error.ts'
import { type Gateway, isPassing } from './gateway.ts'
import type { Transaction, TransactionAnswer } from './messages.ts'

export interface Settled {
  readonly answer: TransactionAnswer
  /** Whether an earlier attempt, whose answer was lost, may have been done. */
  readonly isRepeated: boolean
}

/**
 * Sends a transaction until etcd answers, for up to CLUSTER_CHANGE_MS. It must do no harm when it is done twice.
 *
 * @param what Of which the errors speak: "the accounts".
 * @throws {StorageFullError} {StorageUnavailableError} if nothing was done.
 * @throws {OutcomeUnknownError} if it may have been done.
 * @throws {EtcdError} if its lease has ended.
 */
export async function transactUntilSettled(
  gateway: Gateway,
  transaction: Transaction,
  what: string,
): Promise<Settled> {
  const end = performance.now() + CLUSTER_CHANGE_MS
  for (let isRepeated = false; ; ) {
    try {
      return { answer: await gateway.transact(transaction), isRepeated }
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      if (error.reason === 'no_lease') throw error
      isRepeated ||= !error.isUndone
      if (!isPassing(error) || performance.now() >= end) throw asStorageError(error, what, isRepeated)
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
  return error.reason === 'no_space'
    ? new StorageFullError(message, options)
    : new StorageUnavailableError(message, options)
}
