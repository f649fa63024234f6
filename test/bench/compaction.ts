import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFiles } from '../../src/files/data-folder.ts'
import { measureBareSnapshot, measureSnapshot, WARM_UP_MS } from './compaction-round.ts'
import type { Result, Sample } from './comparison.ts'
import { changesBeforeSnapshot } from './prepared-compaction.ts'
import { prepareFolder } from './servers.ts'
import { WRITES_PER_SECOND } from './steady-writes.ts'

const RECORDS = 1_000_000
const ROUNDS = 3
const BEFORE_MS = 4_000
const HOLD_MS_MAX = 20
/** By the disk's own: the bare server waits for it too. */
const DELAY_MAX = 1.3

const load = `${RECORDS} records, ${WRITES_PER_SECOND} durable writes a second`

/**
 * What a snapshot does to a server that is written to.
 *
 * @param workshop As `createComparisons` has it.
 */
export async function compareCompaction(workshop: string): Promise<Result[]> {
  const writesBefore = ((WARM_UP_MS + BEFORE_MS) * WRITES_PER_SECOND) / 1000
  const folder = await prepareFolder(workshop, RECORDS, (snapshotBytes) =>
    changesBeforeSnapshot(snapshotBytes, RECORDS, writesBefore),
  )
  const { size } = await stat(join(folder, dataFiles.snapshot))
  const rounds: Awaited<ReturnType<typeof measureSnapshot>>[] = []
  const bare: Sample[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push(await measureSnapshot(folder, workshop, RECORDS))
    bare.push(await measureBareSnapshot(workshop, size, RECORDS))
  }
  const during = rounds.map((round) => round.during)
  return [
    {
      comparison: {
        title: `While a snapshot is written, and before; ${load}; memory at its highest, and as it was`,
        subject: { name: 'during' },
        baseline: { name: 'before' },
        targets: [
          { figure: 'holdP50' },
          { figure: 'holdP99', millisecondsAtMost: HOLD_MS_MAX },
          { figure: 'holdMax' },
          { figure: 'answerP50' },
          { figure: 'answerP99' },
          { figure: 'answerMax' },
          { figure: 'memory', atMost: 1.5 },
        ],
      },
      subject: during,
      baseline: rounds.map((round) => round.before),
    },
    {
      comparison: {
        title:
          'The same writes; the baseline appends them to a file while another program writes and syncs as much',
        subject: { name: 'connbook' },
        baseline: { name: 'bare node:http' },
        targets: [
          { figure: 'answerP50' },
          { figure: 'answerP99', atMost: DELAY_MAX },
          { figure: 'answerMax' },
        ],
      },
      subject: during,
      baseline: bare,
    },
    {
      comparison: {
        title: `Start with ${RECORDS} records, with the journal as long as it gets, and after the snapshot`,
        subject: { name: 'long journal' },
        baseline: { name: 'short journal' },
        targets: [{ figure: 'startMilliseconds' }],
      },
      subject: rounds.map((round) => round.startWithLongJournal),
      baseline: rounds.map((round) => round.startWithShortJournal),
    },
  ]
}
