import { recordMemoryMax } from '../budget.ts'
import { IMPORT_BYTES_MAX, IMPORT_MEMORY_SHARE, RECORDS_MEMORY_LEAST_BYTES } from '../limits.ts'
import { importMemoryMax } from '../store/record-room.ts'

export interface ImportLimits {
  /** Longest body. */
  readonly bytesMax: number
  /** Most memory for all that is made of its rows, in bytes. */
  readonly memoryMax: number
}

/**
 * What an import may have, so that none ends a server with little memory.
 *
 * @param taken Bytes that the records take.
 * @param max Bytes that they may take.
 */
export function importLimitsFor(taken: number, max = recordMemoryMax()): ImportLimits {
  const room = Math.max(max - taken, RECORDS_MEMORY_LEAST_BYTES)
  return {
    bytesMax: Math.min(IMPORT_BYTES_MAX, Math.floor(room * IMPORT_MEMORY_SHARE)),
    memoryMax: importMemoryMax(taken, max),
  }
}
