import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { prepareFolder } from './prepared-folders.ts'
import { startConnbook } from './servers.ts'
import { type RunningTraffic, startTraffic, type Traffic } from './soak-traffic.ts'
import { quantile, summarize } from './statistics.ts'
import { type Trend, trendOf } from './trend.ts'
import { makeWorkshop } from './workshop.ts'

const RECORDS = 10_000
/** Memory and latency are looked at over so long. */
const INTERVAL_MS = 10_000
const INTERVALS_PER_MINUTE = 6
const MEMORY_GROWTH_MAX = 1.1
/** On a machine that does other things, too, it is never quite the same. */
const P99_GROWTH_MAX = 1.25

/** What was seen in INTERVAL_MS. */
interface Interval extends Traffic {
  readonly mebibytes: number
}

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } })
const intervalCount = Math.round(Number(values.minutes) * INTERVALS_PER_MINUTE)
if (!(intervalCount >= 3)) {
  console.error(
    `Cannot soak for "${values.minutes}" minutes: give 0.5 or more, as in npm run soak -- --minutes 1`,
  )
  process.exit(2)
}

const workshop = await makeWorkshop()
await using server = await startConnbook(await prepareFolder(workshop, RECORDS))
const traffic = startTraffic(server, RECORDS)
const intervals: Interval[] = []
for (let i = 1; i <= intervalCount; i++) {
  await pause(INTERVAL_MS)
  intervals.push({ ...traffic.take(), mebibytes: server.residentMebibytes() })
  if (i % INTERVALS_PER_MINUTE === 0 || i === intervalCount) tellMinute(i)
}
await traffic.stop()
process.exitCode = tellEnd(intervals, traffic) ? 0 : 1

function tellMinute(count: number) {
  const since = Math.floor((count - 1) / INTERVALS_PER_MINUTE) * INTERVALS_PER_MINUTE
  const minute = intervals.slice(since)
  const latencies = minute.flatMap((interval) => interval.latencies)
  const counts = new Map<string, number>()
  for (const [kind, added] of minute.flatMap((interval) => [...interval.counts]))
    counts.set(kind, (counts.get(kind) ?? 0) + added)
  const memory = summarize(minute.map(({ mebibytes }) => mebibytes)).median
  const kinds = [...counts]
    .toSorted()
    .map(([kind, number]) => `${number} ${kind}`)
    .join(', ')
  const times = `p50 ${quantile(latencies, 0.5).toFixed(2)} ms, p99 ${quantile(latencies, 0.99).toFixed(2)} ms`
  const minutes = (count / INTERVALS_PER_MINUTE).toFixed(1)
  console.log(
    `${minutes} min: ${memory.toFixed(1)} MiB, ${times}, ${latencies.length} requests, ${traffic.failures} failed (${kinds})`,
  )
}

/** Whether nothing failed and nothing grew. */
function tellEnd(all: readonly Interval[], { failures, reasons }: RunningTraffic): boolean {
  const memory = trendOf(
    all.map(({ mebibytes }) => mebibytes),
    MEMORY_GROWTH_MAX,
  )
  const p99 = trendOf(
    all.map(({ latencies }) => quantile(latencies, 0.99)),
    P99_GROWTH_MAX,
  )
  for (const reason of reasons) console.log(`Failed: ${reason}`)
  console.log(`Requests that failed: ${failures}`)
  console.log(trendText('Memory, MiB', memory, MEMORY_GROWTH_MAX))
  console.log(trendText('p99, ms', p99, P99_GROWTH_MAX))
  return failures === 0 && memory.isFlat && p99.isFlat
}

function trendText(what: string, { middle, last, isFlat }: Trend, growthMax: number): string {
  const verdict = isFlat ? 'flat' : 'not flat'
  return `${what}: ${verdict}, ${middle.toFixed(2)} in the middle third, ${last.toFixed(2)} in the last, so × ${(last / middle).toFixed(2)} (flat: at most ${growthMax})`
}
