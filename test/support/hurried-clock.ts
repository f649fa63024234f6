import type { TestContext } from 'node:test'
import { LOCK_WAIT_MS } from '../../src/limits.ts'

/** Until the test ends, each look at the clock takes a while, so that commands soon give up waiting for a lock. */
export function hurryClock(t: TestContext): void {
  const now = performance.now.bind(performance)
  let ahead = 0
  t.mock.method(performance, 'now', () => {
    ahead += LOCK_WAIT_MS / 4
    return now() + ahead
  })
}

/** Until the test ends, no time passes for commands that wait for a lock, however busy the machine is. */
export function stopClock(t: TestContext): void {
  t.mock.method(performance, 'now', () => 0)
}
