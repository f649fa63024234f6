import { readdirSync, readFileSync } from 'node:fs'
import { CONNECTIONS_MAX, DESCRIPTORS_RESERVED } from '../limits.ts'

/**
 * Finds how many connections may be open at once, so that descriptors stay free for files, such as a snapshot. Only
 * Linux tells; elsewhere it is CONNECTIONS_MAX.
 *
 * @returns `openFiles` is the limit on open files, absent unless it lowers `connections`.
 */
export function findConnectionsLimit(): { connections: number; openFiles?: number } {
  const openFiles = findOpenFilesMax()
  if (openFiles === undefined) return { connections: CONNECTIONS_MAX }
  const free = openFiles - readdirSync('/proc/self/fd').length - DESCRIPTORS_RESERVED
  return free >= CONNECTIONS_MAX
    ? { connections: CONNECTIONS_MAX }
    : { connections: Math.max(1, free), openFiles }
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
