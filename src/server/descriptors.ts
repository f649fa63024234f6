import { readdirSync, readFileSync } from 'node:fs'
import { CONNECTIONS_MAX, DESCRIPTORS_RESERVED } from '../limits.ts'

export interface ConnectionsLimit {
  /** Connections that may be open at once. */
  readonly connections: number
  /** The limit on open files that makes them fewer than CONNECTIONS_MAX; undefined when it does not. */
  readonly openFiles?: number
}

/**
 * How many connections this process can have open and still open files: without a descriptor no snapshot could be
 * written, and no connection taken. Only Linux tells; elsewhere it is CONNECTIONS_MAX.
 */
export function findConnectionsLimit(): ConnectionsLimit {
  const openFiles = findOpenFilesMax()
  if (openFiles === undefined) return { connections: CONNECTIONS_MAX }
  const free = openFiles - readdirSync('/proc/self/fd').length - DESCRIPTORS_RESERVED
  return free >= CONNECTIONS_MAX
    ? { connections: CONNECTIONS_MAX }
    : { connections: Math.max(1, free), openFiles }
}

/** The soft limit, which Node raises to the hard one when it starts. */
function findOpenFilesMax(): number | undefined {
  try {
    const soft = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
