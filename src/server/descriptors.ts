import { readdirSync, readFileSync } from 'node:fs'
import {
  CONNECTION_BYTES,
  CONNECTIONS_MAX,
  CONNECTIONS_MEMORY_SHARE,
  DESCRIPTORS_RESERVED,
} from '../limits.ts'
import { memoryBytes } from '../memory.ts'

/**
 * Finds how many connections may be open at once, so that there is memory for more than them, and descriptors stay free
 * for files, such as a snapshot. Only Linux tells of descriptors.
 *
 * @param memory In bytes.
 * @returns `openFiles` is the limit on open files, absent unless it lowers `connections`.
 */
export function findConnectionsLimit(memory = memoryBytes()): { connections: number; openFiles?: number } {
  const forMemory = Math.floor((memory * CONNECTIONS_MEMORY_SHARE) / CONNECTION_BYTES)
  const connections = Math.min(CONNECTIONS_MAX, forMemory)
  const openFiles = findOpenFilesMax()
  if (openFiles === undefined) return { connections }
  const free = openFiles - readdirSync('/proc/self/fd').length - DESCRIPTORS_RESERVED
  return free >= connections ? { connections } : { connections: Math.max(1, free), openFiles }
}

/** The soft limit, which Node raises to the hard one at its start. */
function findOpenFilesMax(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
