import { copyOf, newPath } from './data-folders.ts'
import type { Sample } from './figure.ts'
import { countText, MANY, MOST } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section, valueAtMost } from './row.ts'
import { spawnBareAnswer, spawnConnbook } from './servers.ts'

/** It answers from the first moment, so whatever there is to be read. */
const HEALTHY_RATIO_MAX = 1.5

/** From when the process is started to the first answers. */
export async function measureStarts(
  { many, most }: { readonly many: string; readonly most: string },
  workshop: string,
): Promise<Section> {
  const ofMany = await copyOf(many, workshop)
  const ofMost = await copyOf(most, workshop)
  const [first, bare, startMany, startMost] = await measureInTurn([
    { name: 'connbook', measure: async () => timeStart(spawnConnbook(await newPath(workshop))) },
    { name: 'bare node:http', measure: () => timeStart(spawnBareAnswer()) },
    { name: 'connbook', measure: () => timeStart(spawnConnbook(ofMany)) },
    { name: 'connbook', measure: () => timeStart(spawnConnbook(ofMost)) },
  ])
  const empty = { ...first, name: 'empty folder' }
  return {
    title: 'Start, from spawn to the first answers; the first one makes folder and accounts',
    rows: [
      ...rowsOf('start in an empty folder', first, bare, { healthyMilliseconds: ratioAtMost(3) }),
      ...rowsOf(`start with ${countText(MANY)} records`, startMany, empty, {
        healthyMilliseconds: ratioAtMost(HEALTHY_RATIO_MAX),
      }),
      ...rowsOf(`start with ${countText(MANY)} records`, startMany, undefined, {
        readyMilliseconds: valueAtMost(1_000),
      }),
      ...rowsOf(`start with ${countText(MOST)} records`, startMost, empty, {
        healthyMilliseconds: ratioAtMost(HEALTHY_RATIO_MAX),
      }),
      ...rowsOf(`start with ${countText(MOST)} records`, startMost, undefined, {
        readyMilliseconds: valueAtMost(6_000),
      }),
    ],
  }
}

async function timeStart(spawning: ReturnType<typeof spawnConnbook>): Promise<Sample> {
  const begin = performance.now()
  await using server = await spawning
  await server.untilAnswered('/healthz')
  const healthyMilliseconds = performance.now() - begin
  await server.untilAnswered('/readyz')
  return { healthyMilliseconds, readyMilliseconds: performance.now() - begin }
}
