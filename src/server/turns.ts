/** Calls `work` later: one call per iteration of the event loop, first come, first served. */
export type Turns = (work: () => void) => void

/** Makes a queue for long work in pieces, so that short requests are answered in between. */
export function createTurns(): Turns {
  let last = Promise.resolve()
  return (work) => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)))
    void last.then(work)
  }
}
