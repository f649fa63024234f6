import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFiles } from '../../src/files/data-folder.ts'
import { measureBareSnapshot, measureSnapshot, WARM_UP_MS, WRITES_PER_SECOND } from './compaction-round.ts'
import { copyOf, writeJournal } from './data-folders.ts'
import type { Sample } from './figure.ts'
import { changesBeforeSnapshot } from './prepared-compaction.ts'
import { countText, MOST } from './prepared-folders.ts'
import { LONG_ROUNDS } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section, valueAtMost } from './row.ts'

const BEFORE_MS = 2_000
const HOLD_MS_MAX = 20
/** By the disk's own: the bare server waits for it too. */
const DELAY_MAX = 1.3

/** What a snapshot does to a server that is written to. */
export async function compareCompaction(most: string, workshop: string): Promise<Section> {
  const folder = await copyOf(most, workshop)
  const { size } = await stat(join(folder, dataFiles.snapshot))
  const writesBefore = ((WARM_UP_MS + BEFORE_MS) * WRITES_PER_SECOND) / 1000
  await writeJournal(folder, MOST, changesBeforeSnapshot(size, MOST, writesBefore))
  const rounds: Awaited<ReturnType<typeof measureSnapshot>>[] = []
  const bareSamples: Sample[] = []
  for (let round = 0; round < LONG_ROUNDS; round++) {
    rounds.push(await measureSnapshot(folder, workshop, MOST))
    bareSamples.push(await measureBareSnapshot(workshop, size, MOST))
  }
  const during = { name: 'during', samples: rounds.map((round) => round.during) }
  const before = { name: 'before it', samples: rounds.map((round) => round.before) }
  const connbook = { name: 'connbook', samples: during.samples }
  const bare = { name: 'bare node:http', samples: bareSamples }
  const long = { name: 'connbook', samples: rounds.map((round) => round.startWithLongJournal) }
  const short = { name: 'short journal', samples: rounds.map((round) => round.startWithShortJournal) }
  return {
    title: `While a snapshot of ${countText(MOST)} records is written, with ${countText(WRITES_PER_SECOND)} durable writes a second; the bare
server writes and another program writes and syncs as much`,
    rows: [
      ...rowsOf('during a snapshot', during, before, {
        holdP50: undefined,
        holdP99: valueAtMost(HOLD_MS_MAX),
        holdMax: undefined,
        latencyP50: undefined,
        latencyP99: undefined,
        residentMebibytes: ratioAtMost(1.5),
      }),
      ...rowsOf('during a snapshot', connbook, bare, {
        latencyP50: undefined,
        latencyP99: ratioAtMost(DELAY_MAX),
        latencyMax: undefined,
      }),
      ...rowsOf('start with the longest journal', long, short, { readyMilliseconds: undefined }),
    ],
  }
}
