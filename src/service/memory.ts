import { totalmem } from 'node:os'
import { MEMORY_MIB_MIN } from '../limits.ts'
import type { Log } from '../log.ts'

const MEBIBYTE = 1024 * 1024

/** What this process may use: the memory of the host, or the limit of its control group if that is lower. */
export function memoryBytes(): number {
  // 0 where no limit is known.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem())
}

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
