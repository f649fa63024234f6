import { setTimeout as pause } from 'node:timers/promises'
import { bundleProgram } from '../support/bundled-program.ts'
import { checkWritten } from './check-written.ts'
import { copyOf, newPath } from './data-folders.ts'
import { eventLoopWatch, holdsIn, readTicks } from './event-loop.ts'
import type { Sample } from './figure.ts'
import { followMemory } from './memory.ts'
import { getBearer, runBareSnapshot, startBareCommit, startConnbook } from './servers.ts'
import { type Period, sharedNow } from './shared-clock.ts'
import { nextSnapshot } from './snapshot-period.ts'
import { quantile, summarize } from './statistics.ts'
import { latenciesIn, startSteadyRequests } from './steady-requests.ts'
import { outcomeOf, writeOf } from './writes.ts'

/** Until the compiler has optimized. */
export const WARM_UP_MS = 2_000
const AFTER_MS = 500
export const WRITES_PER_SECOND = 1_000
/** Removing a large file keeps the disk busy for some time. */
const SETTLING_MS = 200

export interface CompactionRound {
  readonly before: Sample
  readonly during: Sample
  readonly startWithLongJournal: Sample
  readonly startWithShortJournal: Sample
}

/**
 * Writes to connbook at a steady rate before, during and after the snapshot that this brings about, kills it without
 * notice, and looks whether everything that was acknowledged is there.
 *
 * @param prepared A folder with `records` records and a journal that makes a snapshot due after some seconds.
 * @throws {Error} when a write was refused, or an acknowledged one is missing.
 */
export async function measureSnapshot(
  prepared: string,
  workshop: string,
  records: number,
): Promise<CompactionRound> {
  const folder = await copyOf(prepared, workshop)
  const ticksPath = await newPath(workshop)
  const { server, ...startWithLongJournal } = await timeStart(folder, {
    program: await bundleProgram(workshop, { preloaded: eventLoopWatch }),
    environment: { EVENT_LOOP_TICKS: ticksPath },
  })
  await using _server = server
  const memory = followMemory(server)
  const writes = startSteadyRequests(server.url, await getBearer(server), WRITES_PER_SECOND, (index) =>
    writeOf(index, records),
  )
  const warm = sharedNow() + WARM_UP_MS
  const during = withSettling(await Promise.race([nextSnapshot(folder), writes.failed]))
  const before = { begin: warm, end: during.begin }
  await Promise.race([pause(AFTER_MS), writes.failed])
  const ticks = await readTicks(server, ticksPath)
  memory.stop()
  writes.stop()
  await server.kill()

  const { server: restarted, ...startWithShortJournal } = await timeStart(folder)
  await using _restarted = restarted
  const outcomes = writes.answered.map(({ index }) => outcomeOf(index, records))
  await checkWritten(restarted.url, await getBearer(restarted), outcomes)
  return {
    before: {
      ...holdFigures(holdsIn(ticks, before)),
      ...latenciesIn(writes.answered, before),
      residentMebibytes: summarize(memory.during(before)).median,
    },
    during: {
      ...holdFigures(holdsIn(ticks, during)),
      ...latenciesIn(writes.answered, during),
      residentMebibytes: summarize(memory.during(during)).max,
    },
    startWithLongJournal,
    startWithShortJournal,
  }
}

/** Writes to a bare server at the same rate, while another program puts a file of this size on the same disk. */
export async function measureBareSnapshot(
  workshop: string,
  snapshotBytes: number,
  records: number,
): Promise<Sample> {
  await using server = await startBareCommit(workshop)
  const writes = startSteadyRequests(server.url, {}, WRITES_PER_SECOND, (index) => writeOf(index, records))
  await Promise.race([pause(WARM_UP_MS), writes.failed])
  const during = withSettling(await Promise.race([runBareSnapshot(workshop, snapshotBytes), writes.failed]))
  await Promise.race([pause(AFTER_MS), writes.failed])
  writes.stop()
  await server.kill()
  return latenciesIn(writes.answered, during)
}

function withSettling({ begin, end }: Period): Period {
  return { begin, end: end + SETTLING_MS }
}

async function timeStart(folder: string, options: Parameters<typeof startConnbook>[1] = {}) {
  const begin = performance.now()
  const server = await startConnbook(folder, options)
  return { server, readyMilliseconds: performance.now() - begin }
}

function holdFigures(holds: readonly number[]): Sample {
  return { holdP50: quantile(holds, 0.5), holdP99: quantile(holds, 0.99), holdMax: quantile(holds, 1) }
}
