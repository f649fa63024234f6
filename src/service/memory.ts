import { memoryNeededFor, recordMemoryMax } from '../budget.ts'
import { MEMORY_MIB_MIN } from '../limits.ts'
import type { Log } from '../log.ts'

const MEBIBYTE = 1024 * 1024

/**
 * Warns if a server has less memory than MEMORY_MIB_MIN, or than its records may take.
 *
 * @param memory In bytes.
 * @param records Estimated bytes of those that are stored.
 */
export function warnOfShortMemory(
  memory: number,
  records: number,
  log: Log,
  recordsMax = recordMemoryMax(memory),
): void {
  const has = Math.floor(memory / MEBIBYTE)
  if (has >= MEMORY_MIB_MIN && records < recordsMax) return
  const needed = Math.max(MEMORY_MIB_MIN, records < recordsMax ? 0 : toMebibytes(memoryNeededFor(records)))
  log.warn('memory_short', {
    memory_mib: has,
    needed_mib: needed,
    remedy: `raise the limit of the service or container (MemoryMax=, --memory) to ${needed} MiB or more`,
  })
}

function toMebibytes(bytes: number): number {
  return Math.ceil(bytes / MEBIBYTE)
}
