import type { Load } from './load.ts'
import { loadContender } from './load-contender.ts'
import { countText, FEW, MOST } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section, valueAtMost } from './row.ts'
import { type Connbook, getBearer } from './servers.ts'

/** `GET /metrics`, by one client at a time, as Prometheus asks, of servers that have nothing else to do. */
export async function measureScrapes(few: Connbook, most: Connbook): Promise<Section> {
  const load = async (server: Connbook): Promise<Load> => ({
    paths: ['/metrics'],
    headers: await getBearer(server),
    connections: 1,
  })
  const [ofFew, ofMost] = await measureInTurn([
    loadContender(`${countText(FEW)} records`, few, await load(few)),
    loadContender('connbook', most, await load(most)),
  ])
  const others = { latencyP50: undefined, latencyP99: undefined }
  return {
    title: 'GET /metrics, 1 connection; counting costs every request, and is in all other rows',
    rows: [
      ...rowsOf(`scrape with ${countText(FEW)} records`, { ...ofFew, name: 'connbook' }, undefined, {
        cpuMicroseconds: valueAtMost(1_000),
        ...others,
      }),
      ...rowsOf(`scrape with ${countText(MOST)} records`, ofMost, ofFew, {
        cpuMicroseconds: ratioAtMost(1.3),
        ...others,
      }),
    ],
  }
}
