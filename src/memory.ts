import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

/** What this process may use: the memory of the host, or the limit of its control group if that is lower. */
export function memoryBytes(): number {
  // 0 where no limit is known.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem())
}

/** What JavaScript may use: Node's own limit can be above what there is. */
export function heapBytesMax(): number {
  return Math.min(getHeapStatistics().heap_size_limit, memoryBytes())
}
