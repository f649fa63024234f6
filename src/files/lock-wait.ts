import { setTimeout } from 'node:timers/promises'
import { LOCK_PAUSE_MS, LOCK_WAIT_MS } from '../limits.ts'
import type { FileLock } from './file-lock.ts'

/**
 * Takes a lock, and tries again while another process holds it.
 *
 * @param take Undefined while the lock is held.
 * @returns Undefined if it is still held after LOCK_WAIT_MS.
 */
export async function waitForLock(
  take: () => Promise<FileLock | undefined> | FileLock | undefined,
): Promise<FileLock | undefined> {
  const end = performance.now() + LOCK_WAIT_MS
  do {
    const lock = await take()
    if (lock !== undefined) return lock
    await setTimeout(LOCK_PAUSE_MS)
  } while (performance.now() < end)
  return undefined
}
