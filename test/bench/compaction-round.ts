import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '../support/http-client.ts'
import { checkWritten } from './check-written.ts'
import type { Sample } from './comparison.ts'
import { copyOf, newPath } from './data-folders.ts'
import { holdsIn, readTicks, watchingEventLoop } from './event-loop.ts'
import { followMemory } from './memory.ts'
import { outcomeOf, writeOf } from './prepared-compaction.ts'
import { getBearer, runBareSnapshot, startBareCommit, startConnbook } from './servers.ts'
import { type Period, sharedNow } from './shared-clock.ts'
import { nextSnapshot } from './snapshot-period.ts'
import { quantile, summarize } from './statistics.ts'
import { type Acknowledged, startSteadyWrites } from './steady-writes.ts'

/** For the compiler to have done its work. */
export const WARM_UP_MS = 3_000
const AFTER_MS = 1_000
/** A large file that was removed keeps the disk busy for some time yet. */
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
  const { server, ...startWithLongJournal } = await timeStart(folder, watchingEventLoop(ticksPath))
  await using _server = server
  const memory = followMemory(server)
  const writes = startSteadyWrites(server.url, await getBearer(server), (index) => writeOf(index, records))
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
  const outcomes = writes.acknowledged.map(({ index }) => outcomeOf(index, records))
  await checkWritten(restarted.url, await getBearer(restarted), outcomes)
  return {
    before: {
      ...holdFigures(holdsIn(ticks, before)),
      ...answerFigures(writes.acknowledged, before),
      memory: summarize(memory.during(before)).median,
    },
    during: {
      ...holdFigures(holdsIn(ticks, during)),
      ...answerFigures(writes.acknowledged, during),
      memory: summarize(memory.during(during)).max,
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
  const writes = startSteadyWrites(server.url, {}, (index) => writeOf(index, records))
  await Promise.race([pause(WARM_UP_MS), writes.failed])
  const during = withSettling(await Promise.race([runBareSnapshot(workshop, snapshotBytes), writes.failed]))
  await Promise.race([pause(AFTER_MS), writes.failed])
  writes.stop()
  await server.kill()
  return answerFigures(writes.acknowledged, during)
}

function withSettling({ begin, end }: Period): Period {
  return { begin, end: end + SETTLING_MS }
}

async function timeStart(folder: string, environment: NodeJS.ProcessEnv = {}) {
  const begin = performance.now()
  const server = await startConnbook(folder, environment)
  const { status } = await createClient(server.url)('GET', '/healthz')
  if (status !== 200) throw new Error(`GET /healthz: ${status}`)
  return { server, startMilliseconds: performance.now() - begin }
}

function holdFigures(holds: readonly number[]): Sample {
  return { holdP50: quantile(holds, 0.5), holdP99: quantile(holds, 0.99), holdMax: quantile(holds, 1) }
}

/** Of the writes that were answered in the period. */
function answerFigures(acknowledged: readonly Acknowledged[], period: Period): Sample {
  const waits = acknowledged
    .filter(({ end }) => end >= period.begin && end < period.end)
    .map(({ begin, end }) => end - begin)
  return { answerP50: quantile(waits, 0.5), answerP99: quantile(waits, 0.99), answerMax: quantile(waits, 1) }
}
