import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'

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
