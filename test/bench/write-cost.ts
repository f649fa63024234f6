import { fieldsOf } from './data-folders.ts'
import { readAnswer } from './full-answer.ts'
import { CONNECTIONS, type Load, UNIQUE_DIGITS } from './load.ts'
import { loadContender } from './load-contender.ts'
import { countText, FEW, MOST } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section } from './row.ts'
import { type Connbook, getBearer } from './servers.ts'

const SORTED = '/configurations/?sort=name&page=0&per_page=50'
/** Far more than there are connections, so that no two change the same one at once. */
const CHANGED = 1_000

/**
 * What a modification costs when many records are there, and their order by name is kept. With few records the snapshots
 * that fall due meanwhile are small; with many none falls due.
 */
export async function compareWriteCost(few: Connbook, most: Connbook): Promise<Section> {
  const [ofMost, ofFew] = await measureInTurn([
    loadContender(`${countText(MOST)} records`, most, await modificationsOf(most, MOST)),
    loadContender(`${countText(FEW)} records`, few, await modificationsOf(few, FEW)),
  ])
  return {
    title: `Durable modification with many records present and with few, ${CONNECTIONS} connections`,
    rows: rowsOf(`durable modification of ${countText(MOST)} records`, ofMost, ofFew, {
      cpuMicroseconds: ratioAtMost(1.3),
      perSecond: undefined,
      latencyP50: undefined,
      latencyP99: undefined,
    }),
  }
}

/** Modifies records out of all the list. */
async function modificationsOf(server: Connbook, records: number): Promise<Load> {
  const headers = await getBearer(server)
  await readAnswer(server.url + SORTED, headers)
  const path = (i: number) => `/configurations/${fieldsOf(1 + i * (records / CHANGED)).name}`
  return {
    method: 'PATCH',
    paths: [path(0), ...Array.from({ length: CHANGED - 1 }, (_, i) => path(i + 1))],
    headers,
    body: JSON.stringify({ username: `ops-${UNIQUE_DIGITS}` }),
  }
}
