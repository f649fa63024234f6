import { readdirSync, readFileSync } from 'node:fs'
import { shareOf } from '../budget.ts'
import {
  CONNECTIONS_MAX,
  DESCRIPTORS_RESERVED,
  PLAIN_CONNECTION_BYTES,
  TLS_CONNECTION_BYTES,
} from '../limits.ts'

/**
 * Finds how many connections may be open at once, so that there is memory for more than them, and descriptors stay free
 * for files, such as a snapshot. Only Linux tells of descriptors.
 *
 * @param isTls Whether they speak TLS.
 * @param bytes Memory for all of them.
 * @returns `openFiles` is the limit on open files, absent unless it lowers `connections`.
 */
export function findConnectionsLimit(
  isTls: boolean,
  bytes = shareOf('connections'),
): { connections: number; openFiles?: number } {
  const forMemory = Math.floor(bytes / (isTls ? TLS_CONNECTION_BYTES : PLAIN_CONNECTION_BYTES))
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
