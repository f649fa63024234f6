import { MEMORY_MIB_MIN } from '../limits.ts'
import type { Log } from '../log.ts'

const MEBIBYTE = 1024 * 1024

/** Warns if a server has less memory than MEMORY_MIB_MIN. */
export function warnOfShortMemory(bytes: number, log: Log): void {
  const memory = Math.floor(bytes / MEBIBYTE)
  if (memory >= MEMORY_MIB_MIN) return
  log.warn('memory_short', {
    memory_mib: memory,
    needed_mib: MEMORY_MIB_MIN,
    remedy: `raise the limit of the service or container (MemoryMax=, --memory) to ${MEMORY_MIB_MIN} MiB or more`,
  })
}
