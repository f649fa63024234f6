import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'
import timers from 'node:timers'
import promises from 'node:timers/promises'

/**
 * Until the test ends, pauses of the program that last exactly so long are over at once. All others last as long as ever,
 * unlike with `holdTimers`.
 *
 * @param pausesMs As `limits.ts` names them.
 */
export function skipPauses(t: TestContext, ...pausesMs: readonly number[]): void {
  const shorten = (ms: number | undefined) => (ms !== undefined && pausesMs.includes(ms) ? 0 : ms)
  const { setTimeout } = timers
  const { setTimeout: pause } = promises
  const set = Object.assign(
    (call: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) =>
      setTimeout(call, shorten(ms), ...args),
    setTimeout,
  ) as typeof setTimeout
  const replace = (byGlobal: typeof setTimeout, byPromise: typeof pause) => {
    globalThis.setTimeout = byGlobal
    timers.setTimeout = byGlobal
    promises.setTimeout = byPromise
    // Otherwise modules that have imported it by name would keep the other one.
    syncBuiltinESMExports()
  }
  replace(set, (ms, ...rest) => pause(shorten(ms), ...rest))
  t.after(() => replace(setTimeout, pause))
}
