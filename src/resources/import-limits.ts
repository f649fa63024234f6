import {
  IMPORT_BYTES_MAX,
  IMPORT_MEMORY_LEAST_BYTES,
  IMPORT_MEMORY_SHARE,
  IMPORT_ROW_MEMORY_BYTES,
  IMPORT_ROWS_MAX,
  MEMORY_RESERVED_BYTES,
} from '../limits.ts'
import { memoryBytes } from '../memory.ts'

export interface ImportLimits {
  readonly bytesMax: number
  readonly rowsMax: number
}

/**
 * What an import may have, so that none ends a server with little memory.
 *
 * @param taken Bytes that the records take.
 * @param memory Bytes that the process may use.
 */
export function importLimitsFor(taken: number, memory = memoryBytes()): ImportLimits {
  const room = Math.max(memory - MEMORY_RESERVED_BYTES - taken, IMPORT_MEMORY_LEAST_BYTES)
  return {
    bytesMax: Math.min(IMPORT_BYTES_MAX, Math.floor(room * IMPORT_MEMORY_SHARE)),
    rowsMax: Math.min(IMPORT_ROWS_MAX, Math.floor(room / IMPORT_ROW_MEMORY_BYTES)),
  }
}
