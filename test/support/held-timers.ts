import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'

type Timers = 'setTimeout' | 'setInterval'

/** Makes the pauses of the program wait for the function that is returned. */
export function holdTimers(t: TestContext, apis: Timers[] = ['setTimeout']): (ms: number) => void {
  t.mock.timers.enable({ apis })
  // Otherwise modules that have imported it by name would keep the old one.
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.timers.reset()
    syncBuiltinESMExports()
  })
  return (ms) => t.mock.timers.tick(ms)
}

/**
 * Lets time pass, so much in each turn of the event loop, until a promise settles.
 *
 * @param tick As `holdTimers` returns it.
 */
export async function passTimeUntil<T>(
  tick: (ms: number) => void,
  ms: number,
  promise: Promise<T>,
): Promise<T> {
  let isSettled = false
  const settle = () => {
    isSettled = true
  }
  promise.then(settle, settle)
  while (!isSettled) {
    await nextTurn()
    tick(ms)
  }
  return promise
}
