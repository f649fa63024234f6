import {
  IMPORT_BYTES_MAX,
  IMPORT_MEMORY_SHARE,
  IMPORT_ROW_MEMORY_BYTES,
  IMPORT_ROWS_MAX,
  RECORDS_MEMORY_LEAST_BYTES,
} from '../limits.ts'
import { recordMemoryMax } from '../store/record-room.ts'

export interface ImportLimits {
  readonly bytesMax: number
  readonly rowsMax: number
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
    rowsMax: Math.min(IMPORT_ROWS_MAX, Math.floor(room / IMPORT_ROW_MEMORY_BYTES)),
  }
}
