import type { Scheduler } from '../../src/scheduler.ts'

/** A scheduler whose turns the test gives. */
export function holdTurns() {
  const waiting: (() => void)[] = []
  const callers: string[] = []
  const scheduler: Pick<Scheduler, 'once' | 'resume' | 'giveWay'> = {
    once(caller, work) {
      callers.push(caller)
      const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof work>>()
      waiting.push(() => void Promise.try(work).then(resolve, reject))
      return promise
    },
    resume(caller, socket) {
      callers.push(caller)
      waiting.push(() => socket.resume())
    },
    giveWay() {},
  }
  return {
    scheduler,
    /** For whom each work was. */
    callers,
    waiting: () => waiting.length,
    /** Does all works, and those that they add. */
    takeTurns() {
      for (let work = waiting.shift(); work !== undefined; work = waiting.shift()) work()
    },
  }
}
