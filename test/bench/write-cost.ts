import { add } from './adds.ts'
import { readAnswer } from './full-answer.ts'
import { CONNECTIONS } from './load.ts'
import { measureLoad } from './measure-load.ts'
import { countText, FEW, MOST } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section } from './row.ts'
import { type Connbook, getBearer, startConnbookOnCopy } from './servers.ts'

/** Together over before a snapshot is due, which comes sooner for a few records and is cheaper then. */
const WARM_UP_MS = 500
const MEASURED_MS = 500
const ROUNDS = 5
const sorted = '/configurations/?sort=name&page=0&per_page=50'

/** What an add costs when many records are there already, the order by name included. */
export async function compareWriteCost(few: string, most: Connbook, workshop: string): Promise<Section> {
  const [ofMost, ofFew] = await measureInTurn(
    [
      {
        name: `${countText(MOST)} records`,
        warmUp: () => addFor(most, WARM_UP_MS),
        measure: () => addFor(most, MEASURED_MS),
      },
      { name: `${countText(FEW)} records`, measure: addToFew },
    ],
    ROUNDS,
  )
  return {
    title: `Durable add with many records present and with few, between two snapshots, ${CONNECTIONS} connections`,
    rows: rowsOf(`durable add to ${countText(MOST)} records`, ofMost, ofFew, {
      cpuMicroseconds: ratioAtMost(1.3),
      perSecond: undefined,
      latencyP50: undefined,
      latencyP99: undefined,
    }),
  }

  async function addToFew() {
    await using server = await startConnbookOnCopy(few, workshop)
    await addFor(server, WARM_UP_MS)
    return await addFor(server, MEASURED_MS)
  }
}

async function addFor(server: Connbook, milliseconds: number) {
  const headers = await getBearer(server)
  await readAnswer(server.url + sorted, headers)
  return await measureLoad(server, { ...add, headers }, milliseconds)
}
