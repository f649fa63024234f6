import {
  IMPORT_BYTES_MAX,
  IMPORT_MEMORY_RESERVED_BYTES,
  IMPORT_MEMORY_SHARE,
  IMPORT_ROW_MEMORY_BYTES,
  IMPORT_ROWS_MAX,
  MEMORY_MIB_MIN,
} from '../limits.ts'
import { memoryBytes } from '../memory.ts'

export interface ImportLimits {
  readonly bytesMax: number
  readonly rowsMax: number
}

/** What an import may have, so that none ends a server with little memory. @param memory In bytes. */
export function importLimitsFor(memory = memoryBytes()): ImportLimits {
  const room = Math.max(memory, MEMORY_MIB_MIN * 1024 * 1024) - IMPORT_MEMORY_RESERVED_BYTES
  return {
    bytesMax: Math.min(IMPORT_BYTES_MAX, Math.floor(room * IMPORT_MEMORY_SHARE)),
    rowsMax: Math.min(IMPORT_ROWS_MAX, Math.floor(room / IMPORT_ROW_MEMORY_BYTES)),
  }
}
