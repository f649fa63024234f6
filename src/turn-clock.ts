/**
 * The machine's clocks, read once in a turn of the event loop: a reading costs more than most of what a short request
 * needs it for, and a busy server answers dozens of them in one turn.
 */
let isRead = false
let elapsedMs = 0
let wallMs = 0

/** `performance.now()` as of the last reading in this turn. */
export function elapsedInTurn(): number {
  if (!isRead) readClocks()
  return elapsedMs
}

/** `Date.now()` as of the first reading in this turn. */
export function wallInTurn(): number {
  if (!isRead) readClocks()
  return wallMs
}

/** Reads `performance.now()`; the rest of this turn shares the reading. */
export function readElapsed(): number {
  elapsedMs = performance.now()
  return elapsedMs
}

function readClocks() {
  readElapsed()
  wallMs = Date.now()
  isRead = true
  setImmediate(forget)
}

function forget() {
  isRead = false
}
