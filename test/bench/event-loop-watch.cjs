// Loaded into a server by --require: a timer notes the time every millisecond, as long as nothing holds the event
// loop. The notes are written on SIGUSR2, to the file that EVENT_LOOP_TICKS names.
const { renameSync, writeFileSync } = require('node:fs')

const PERIOD_MS = 1
const TICKS_MAX = 600_000

const path = process.env.EVENT_LOOP_TICKS ?? ''
const ticks = new Float64Array(TICKS_MAX)
let count = 0
/** The monotonic clock of the machine, which all processes share. */
const clockOffset = Number(process.hrtime.bigint()) / 1e6 - performance.now()

setInterval(() => {
  if (count < TICKS_MAX) ticks[count++] = performance.now() + clockOffset
}, PERIOD_MS).unref()

process.on('SIGUSR2', () => {
  writeFileSync(`${path}.part`, ticks.subarray(0, count))
  renameSync(`${path}.part`, path)
})
