import type { Scheduler } from '../../src/scheduler.ts'

/** A scheduler whose turns the test gives. */
export function holdTurns() {
  const waiting: (() => void)[] = []
  const scheduler: Pick<Scheduler, 'once' | 'resume'> = {
    once(_, work) {
      const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof work>>()
      waiting.push(() => void Promise.try(work).then(resolve, reject))
      return promise
    },
    resume: (_, socket) => void waiting.push(() => socket.resume()),
  }
  return {
    scheduler,
    waiting: () => waiting.length,
    /** Does all works, and those that they add. */
    takeTurns() {
      for (let work = waiting.shift(); work !== undefined; work = waiting.shift()) work()
    },
  }
}
