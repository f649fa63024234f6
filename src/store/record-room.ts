import { MemoryFullError } from '../errors.ts'
import {
  HEAP_RESERVED_BYTES,
  MEMORY_RESERVED_BYTES,
  RECORD_JSON_COPIES,
  RECORD_MEMORY_BYTES,
} from '../limits.ts'
import { heapBytesMax, memoryBytes } from '../memory.ts'
import type { Alteration } from './change.ts'
import type { Configuration } from './configuration.ts'
import type { ImportPlan } from './import-plan.ts'
import type { Latest } from './record-changes.ts'

const MEBIBYTE = 1024 * 1024

/** Records, by their number and the bytes of their JSON. */
export interface RecordAmount {
  readonly count: number
  readonly jsonBytes: number
}

/** Bytes that records may take. @param memory Bytes that this process may use. @param heap Of these, for JavaScript. */
export function recordMemoryMax(memory = memoryBytes(), heap = heapBytesMax()): number {
  return Math.max(0, Math.min(memory - MEMORY_RESERVED_BYTES, heap - HEAP_RESERVED_BYTES))
}

/** Estimated bytes of records, with all that is cached of them. */
export function recordMemory({ count, jsonBytes }: RecordAmount): number {
  return count * RECORD_MEMORY_BYTES + jsonBytes * RECORD_JSON_COPIES
}

/**
 * The memory for records. Once it is taken, changes that need more are refused: otherwise one writer could end the server,
 * and every later start.
 */
export class RecordRoom {
  readonly #bytesMax: number

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** @throws {MemoryFullError} if the change needs more memory, and there is none. */
  checkChange(stored: RecordAmount, change: Alteration, find: Latest['find']): void {
    if (!this.#isFull(stored) || 'remove' in change) return
    if ('add' in change || change.modify.jsonBytes > (find(change.name)?.jsonBytes ?? 0)) this.#refuse(stored)
  }

  /** As `checkChange`, for all changes of an import together. */
  checkPlan(stored: RecordAmount, { added, modified, removed }: ImportPlan): void {
    if (!this.#isFull(stored)) return
    const jsonBytes = (records: readonly Configuration[]) =>
      records.reduce((sum, record) => sum + record.jsonBytes, 0)
    let growth = recordMemory({ count: added.length, jsonBytes: jsonBytes(added) })
    growth -= recordMemory({ count: removed.length, jsonBytes: jsonBytes(removed) })
    for (const { before, after } of modified) growth += after.jsonBytes - before.jsonBytes
    if (growth > 0) this.#refuse(stored)
  }

  #isFull(stored: RecordAmount): boolean {
    return recordMemory(stored) >= this.#bytesMax
  }

  #refuse(stored: RecordAmount): never {
    const taken = Math.ceil(recordMemory(stored) / MEBIBYTE)
    throw new MemoryFullError(
      `Cannot store the change: ${stored.count} records take ${taken} MiB of memory, and may not take more here; ` +
        'remove records, or give connbook more memory and start it again',
    )
  }
}
