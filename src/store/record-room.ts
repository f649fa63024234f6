import { recordMemoryMax } from '../budget.ts'
import { MemoryFullError } from '../errors.ts'
import { BODY_BYTES_MAX, HELD_LABEL_BYTES, HELD_RECORD_BYTES, RECORDS_MEMORY_LEAST_BYTES } from '../limits.ts'
import type { Alteration } from './change.ts'
import type { Configuration } from './configuration.ts'
import { countLabels } from './labels.ts'

/** Estimated memory of a record beside its text and labels: its places in index and orders, and its ETag. */
export const RECORD_MEMORY_BYTES = 320
/** Its text is there as fields and as JSON; one character that is not Latin 1 doubles each of them. */
export const RECORD_JSON_COPIES = 4
/** Estimated memory of a label beside its text. V8 keeps a description of each set of keys that no other record has. */
export const LABEL_MEMORY_BYTES = 160
/** How often a held record holds its text: as fields and as JSON. */
const HELD_JSON_COPIES = 2
/** Share of the other memory for the rows of an import, or for the records that they make: the rest is for garbage. */
export const IMPORT_ROWS_MEMORY_SHARE = 3 / 8

const MEBIBYTE = 1024 * 1024
/** More than the estimate of any record. */
const ONE_RECORD_BYTES_MAX = 4 * BODY_BYTES_MAX

/** Records, by what their memory depends on. */
export interface RecordAmount {
  readonly count: number
  /** Bytes of their JSON. */
  readonly jsonBytes: number
  /** How many labels they have together. */
  readonly labels: number
}

/** Estimated bytes of records, with all that is cached of them. */
export function recordMemory({ count, jsonBytes, labels }: RecordAmount): number {
  return count * RECORD_MEMORY_BYTES + jsonBytes * RECORD_JSON_COPIES + labels * LABEL_MEMORY_BYTES
}

/** Measured bytes of records that are held as they are: all that goes once nothing holds them any more. */
export function heldMemory({ count, jsonBytes, labels }: RecordAmount): number {
  return count * HELD_RECORD_BYTES + jsonBytes * HELD_JSON_COPIES + labels * HELD_LABEL_BYTES
}

/** Bytes that the rows of an import, or the records that they make, may take. @param taken Bytes that records take. */
export function importMemoryMax(taken: number, max = recordMemoryMax()): number {
  return Math.max(max - taken, RECORDS_MEMORY_LEAST_BYTES) * IMPORT_ROWS_MEMORY_SHARE
}

/** The amount of one record. */
export function amountOf({ jsonBytes, labels }: Configuration): RecordAmount {
  return { count: 1, jsonBytes, labels: countLabels(labels) }
}

/**
 * The memory for records. Changes for which there is none are refused: otherwise one writer could end the server, and every
 * later start. Changes that are still on their way do not count.
 */
export class RecordRoom {
  readonly #bytesMax: number

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Bytes that the records of an import may take while it is planned, beside those that are stored. */
  planMemoryMax(stored: RecordAmount): number {
    return importMemoryMax(recordMemory(stored), this.#bytesMax)
  }

  /** @throws {MemoryFullError} if the change needs more memory than there is. */
  checkChange(
    stored: RecordAmount,
    change: Alteration,
    find: (name: string) => Configuration | undefined,
  ): void {
    // Nearly always, and without a look at the record.
    if (recordMemory(stored) + ONE_RECORD_BYTES_MAX <= this.#bytesMax || 'remove' in change) return
    const before = 'add' in change ? undefined : find(change.name)
    const after = recordMemory(amountOf('add' in change ? change.add : change.modify))
    this.checkGrowth(stored, after - (before === undefined ? 0 : recordMemory(amountOf(before))))
  }

  /** As `checkChange`. @param growth Bytes that changes together need; negative if they free some. */
  checkGrowth(stored: RecordAmount, growth: number): void {
    const taken = recordMemory(stored)
    if (growth <= 0 || taken + growth <= this.#bytesMax) return
    const [has, needs, max] = [taken, growth, this.#bytesMax].map((bytes) => Math.ceil(bytes / MEBIBYTE))
    throw new MemoryFullError(
      `Cannot store the change: it needs ${needs} MiB of memory, and ${stored.count} records take ${has} of ${max} MiB; ` +
        'remove records, or give connbook more memory and start it again',
    )
  }
}
