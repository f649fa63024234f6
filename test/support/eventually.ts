import assert from 'node:assert/strict'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'

/** Long, because a machine may be busy; only a failing test waits for it. */
const DEADLINE_MS = 60_000
const PAUSE_MS = 20

/** Waits until a condition holds that depends on another process. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!(await holds())) {
    if (performance.now() > deadline) assert.fail(`not within ${DEADLINE_MS} ms: ${what}`)
    await pause(PAUSE_MS)
  }
}

/** Waits until a condition holds that depends on this process alone; it is looked at in each turn. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!holds()) {
    if (performance.now() > deadline) assert.fail(`not within ${DEADLINE_MS} ms: ${holds}`)
    await nextTurn()
  }
}
