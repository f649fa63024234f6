import { setTimeout as pause } from 'node:timers/promises'
import type { Sample } from './figure.ts'
import { readAnswer } from './full-answer.ts'
import type { Load } from './load.ts'
import { loadContender } from './load-contender.ts'
import { countText, MOST } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section, valueAtMost } from './row.ts'
import { type Connbook, getBearer } from './servers.ts'
import { sharedNow } from './shared-clock.ts'
import { latenciesIn, startSteadyRequests } from './steady-requests.ts'

const SEARCHES_AT_ONCE = 4
/** One after another, on each of the connections. */
const SEARCHES = 3
const PAUSE_MS = 2_000
const READS_PER_SECOND = 500
const PER_PAGE = 50
const PAGES = 20
const MICROSECONDS_MAX = 600_000

/** Searches for text that no record has, so that a search is nothing but looking. */
const search = '/configurations/?q=no+such+text'

/** Parameters in several orders, so that connbook does not remember the pages. */
const orders = [
  (page: number) => `page=${page}&per_page=${PER_PAGE}`,
  (page: number) => `per_page=${PER_PAGE}&page=${page}`,
  (page: number) => `p%61ge=${page}&per_page=${PER_PAGE}`,
  (page: number) => `per_p%61ge=${PER_PAGE}&page=${page}`,
]

/** Searches through all records, what others notice of them, and pages that need no search. */
export async function measureSearches(server: Connbook): Promise<Section> {
  const headers = await getBearer(server)
  const [sorted, equal, prefix] = [
    await pagesOf(server, headers, 'sort=name&'),
    await pagesOf(server, headers, 'username=ops&'),
    await pagesOf(server, headers, 'prefix=record-5&sort=name&'),
  ]
  const [alone, beside, without, ofAll, ofEqual, ofPrefix] = await measureInTurn([
    { name: 'connbook', warmUp: runSearches, measure: runSearches },
    { name: 'while searching', measure: () => readBeside(runSearches) },
    { name: 'otherwise', measure: () => readBeside(() => pause(PAUSE_MS)) },
    loadContender('without a filter', server, sorted),
    loadContender('with an equality', server, equal),
    loadContender('with a prefix', server, prefix),
  ])
  return {
    title: `Searches through ${countText(MOST)} records, ${SEARCHES_AT_ONCE} at a time; meanwhile others read ${READS_PER_SECOND} records a second`,
    rows: [
      ...rowsOf(`search by q in ${countText(MOST)}`, alone, undefined, {
        cpuMicroseconds: valueAtMost(MICROSECONDS_MAX),
      }),
      ...rowsOf(`others, during ${SEARCHES_AT_ONCE} searches at a time`, beside, without, {
        latencyP50: undefined,
        latencyP99: valueAtMost(20),
        latencyMax: undefined,
      }),
      ...rowsOf(`page of ${PER_PAGE} with a username, from ${countText(MOST)}`, ofEqual, ofAll, {
        cpuMicroseconds: ratioAtMost(2),
      }),
      ...rowsOf(
        `page of ${PER_PAGE} with a prefix, sorted by name, from ${countText(MOST)}`,
        ofPrefix,
        ofAll,
        {
          cpuMicroseconds: ratioAtMost(2),
        },
      ),
    ],
  }

  async function runSearches(): Promise<Sample> {
    const cpuBefore = server.cpuSeconds()
    const works = Array.from({ length: SEARCHES_AT_ONCE }, async () => {
      for (let i = 0; i < SEARCHES; i++) {
        const { status } = await readAnswer(server.url + search, headers)
        if (status !== 200) throw new Error(`GET ${search}: ${status}`)
      }
    })
    await Promise.all(works)
    return { cpuMicroseconds: ((server.cpuSeconds() - cpuBefore) * 1e6) / (SEARCHES_AT_ONCE * SEARCHES) }
  }

  /** One record again and again. */
  async function readBeside(action: () => Promise<unknown>): Promise<Sample> {
    const makeRequest = (index: number) => ({
      method: 'GET',
      path: `/configurations/record-${1 + (index % MOST)}`,
    })
    const reads = startSteadyRequests(server.url, headers, READS_PER_SECOND, makeRequest)
    try {
      const begin = sharedNow()
      await Promise.race([action(), reads.failed])
      return latenciesIn(reads.answered, { begin, end: sharedNow() })
    } finally {
      reads.stop()
    }
  }
}

/** Asks once, for which the order is made, and describes pages around the middle. */
async function pagesOf(
  server: Connbook,
  headers: Readonly<Record<string, string>>,
  filter: string,
): Promise<Load> {
  const path = (page: number, order = orders[0]) => `/configurations/?${filter}${order?.(page)}`
  const answer = await readAnswer(server.url + path(0), headers)
  if (answer.status !== 200) throw new Error(`GET ${path(0)}: ${answer.status}`)
  const [, total] = answer.fields.find(([name]) => name === 'X-Total-Count') ?? []
  const count = Number(total)
  if (!(count >= PER_PAGE * PAGES)) throw new Error(`GET ${path(0)}: only ${count} records`)
  const first = Math.floor((count / PER_PAGE - PAGES) / 2)
  const paths = orders.flatMap((order) => Array.from({ length: PAGES }, (_, i) => path(first + i, order)))
  return { paths: [path(first), ...paths.slice(1)], headers }
}
