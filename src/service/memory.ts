import { MEMORY_MIB_MIN, MEMORY_RESERVED_BYTES } from '../limits.ts'
import type { Log } from '../log.ts'
import { recordMemoryMax } from '../store/record-room.ts'

const MEBIBYTE = 1024 * 1024
/** JavaScript gets three quarters of the memory. */
const WHOLE_BY_HEAP = 4 / 3

/**
 * Warns if a server has less memory than MEMORY_MIB_MIN, or than it needs to add records.
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
  const isFull = records >= recordsMax
  if (has >= MEMORY_MIB_MIN && !isFull) return
  const needed = isFull
    ? Math.ceil(((records + MEMORY_RESERVED_BYTES) * WHOLE_BY_HEAP) / MEBIBYTE)
    : MEMORY_MIB_MIN
  log.warn('memory_short', {
    memory_mib: has,
    needed_mib: needed,
    remedy: `raise the limit of the service or container (MemoryMax=, --memory) to ${needed} MiB or more`,
  })
}
