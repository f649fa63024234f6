import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../log.ts'

/** Between attempts to become writable after the disk failed: doubled from the first pause to the last. */
export const RECOVERY_PAUSE_MS_MIN = 500
export const RECOVERY_PAUSE_MS_MAX = 30_000

/** Calls `recover` until it succeeds, with growing pauses. @returns False when `signal` ended the attempts. */
export async function recoverPatiently(
  recover: () => Promise<void>,
  file: string,
  log: Log,
  signal: AbortSignal,
): Promise<boolean> {
  let pauseMs = RECOVERY_PAUSE_MS_MIN
  while (!signal.aborted) {
    try {
      await recover()
      return true
    } catch (error) {
      log.error('storage_unavailable', { file, reason: String(error), retry_ms: pauseMs })
      await pause(pauseMs, undefined, { ref: false, signal }).catch(() => {})
      pauseMs = Math.min(2 * pauseMs, RECOVERY_PAUSE_MS_MAX)
    }
  }
  return false
}
