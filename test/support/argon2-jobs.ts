import { createHook } from 'node:async_hooks'
import type { TestContext } from 'node:test'

/** The argon2 computations that this process has handed to its thread pool. */
export interface Argon2Jobs {
  readonly started: number
  /** Most that ran at once. */
  readonly atOnceMax: number
}

/** Counts until the test ends. */
export function watchArgon2Jobs(t: TestContext): Argon2Jobs {
  const running = new Set<number>()
  const jobs = { started: 0, atOnceMax: 0 }
  const hook = createHook({
    init(id, type) {
      if (type !== 'ARGON2REQUEST') return
      running.add(id)
      jobs.started += 1
      jobs.atOnceMax = Math.max(jobs.atOnceMax, running.size)
    },
    before: (id) => void running.delete(id),
  })
  hook.enable()
  t.after(() => hook.disable())
  return jobs
}
