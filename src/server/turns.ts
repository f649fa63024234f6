/** Calls back later, one caller each time the event loop comes round, in the order in which they asked. */
export type Turns = (work: () => void) => void

/**
 * A queue for what can wait, or takes long: whoever asks for little is answered in between, however much others have
 * asked for.
 */
export function createTurns(): Turns {
  let last = Promise.resolve()
  return (work) => {
    last = last.then(() => new Promise((resolve) => setImmediate(resolve)))
    void last.then(work)
  }
}
