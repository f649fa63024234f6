import { readAnswer } from './full-answer.ts'
import { startJsonServer } from './json-server.ts'
import { CONNECTIONS, type Load } from './load.ts'
import { loadContender } from './load-contender.ts'
import { countText, FEW, MANY, MOST } from './prepared-folders.ts'
import { type Contender, measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section } from './row.ts'
import { type Connbook, getBearer, startBareAnswer } from './servers.ts'
import { startSteadyRequests } from './steady-requests.ts'
import { writeOf } from './writes.ts'

const PER_PAGE = 50
const PAGES = 20
const WRITES_PER_SECOND = 100

/** Parameters in every order, so that so many requests lie between two of the same that connbook does not remember it. */
const orders = [
  ['sort', 'page', 'per_page'],
  ['sort', 'per_page', 'page'],
  ['page', 'sort', 'per_page'],
  ['page', 'per_page', 'sort'],
  ['per_page', 'sort', 'page'],
  ['per_page', 'page', 'sort'],
] as const
type Order = (typeof orders)[number]

/** Sorted pages out of the middle of lists of three sizes, and one of them again and again. */
export async function comparePages(
  servers: { readonly few: Connbook; readonly many: Connbook; readonly most: Connbook },
  workshop: string,
): Promise<Section> {
  const few = await pagesOf(servers.few, FEW)
  const many = await pagesOf(servers.many, MANY)
  const most = await pagesOf(servers.most, MOST)

  const answer = await readAnswer(servers.most.url + most.load.paths[0], most.load.headers)
  await using bareServer = await startBareAnswer(answer)
  await using jsonServer = await startJsonServer(workshop, FEW)
  const paths = pathsFor(FEW, (page) => `/configurations?_sort=name&_page=${page + 1}&_limit=${PER_PAGE}`)

  const quiet = {
    few: loadContender(`${countText(FEW)} records`, servers.few, few.load),
    many: loadContender(`${countText(MANY)} records`, servers.many, many.load),
    most: loadContender(`${countText(MOST)} records`, servers.most, most.load),
  }
  const again = { ...most.load, paths: [most.load.paths[0]] } as const
  const [ofFew, ofMany, ofMost, ofSame, ofChangingFew, ofChangingMost, bare, other] = await measureInTurn([
    quiet.few,
    quiet.many,
    quiet.most,
    loadContender(`${countText(MOST)} records`, servers.most, again),
    whileWriting(quiet.few, servers.few, few.load.headers, FEW),
    whileWriting(quiet.most, servers.most, most.load.headers, MOST),
    loadContender('bare node:http', bareServer, most.load),
    loadContender('json-server', jsonServer, { paths }),
  ])
  const others = { perSecond: undefined, latencyP50: undefined, latencyP99: undefined }
  const byBare = { cpuMicroseconds: ratioAtMost(1.8), ...others }
  const byFew = { cpuMicroseconds: ratioAtMost(1.3), latencyP99: undefined }
  const first = (series: typeof few.first) =>
    rowsOf(`first page after the start, ${series.name} records`, series, undefined, {
      lastByteMilliseconds: undefined,
    })
  return {
    title: `Sorted page of ${PER_PAGE} from the middle, ${CONNECTIONS} connections; the bare server answers the same bytes`,
    rows: [
      ...rowsOf(`page of ${PER_PAGE} from ${countText(FEW)}`, ofFew, bare, byBare),
      ...rowsOf(`page of ${PER_PAGE} from ${countText(MANY)}`, ofMany, bare, byBare),
      ...rowsOf(`page of ${PER_PAGE} from ${countText(MOST)}`, ofMost, bare, byBare),
      ...rowsOf(`the same page of ${PER_PAGE} again`, ofSame, bare, {
        cpuMicroseconds: ratioAtMost(1.25),
        ...others,
      }),
      ...rowsOf(`page of ${PER_PAGE} from ${countText(MOST)}`, ofMost, ofFew, byFew),
      ...rowsOf(
        `page of ${PER_PAGE} from ${countText(MOST)}, both with ${WRITES_PER_SECOND} writes/s`,
        ofChangingMost,
        ofChangingFew,
        byFew,
      ),
      ...rowsOf(`page of ${PER_PAGE} from ${countText(FEW)}`, ofFew, other, {
        cpuMicroseconds: undefined,
        ...others,
      }),
      ...[few, many, most].flatMap((size) => first(size.first)),
    ],
  }
}

/** Asks for the first page, for which the order is made, and describes the load of the next ones. */
async function pagesOf(server: Connbook, records: number) {
  const headers = await getBearer(server)
  const [order, ...others] = orders
  const pathsIn = (names: Order) => pathsFor(records, (page) => pathOf(names, page))
  const paths = [...pathsIn(order), ...others.flatMap(pathsIn)] as const
  const begin = performance.now()
  const { status } = await readAnswer(server.url + paths[0], headers)
  if (status !== 200) throw new Error(`GET ${paths[0]}: ${status}`)
  const lastByteMilliseconds = performance.now() - begin
  return {
    load: { paths, headers } satisfies Load,
    first: { name: countText(records), samples: [{ lastByteMilliseconds }] },
  }
}

function pathOf(order: Order, page: number): string {
  const values = { sort: 'name', page, per_page: PER_PAGE }
  return `/configurations/?${order.map((name) => `${name}=${values[name]}`).join('&')}`
}

/** Around the middle of the list. */
function pathsFor(records: number, pathOf: (page: number) => string): [string, ...string[]] {
  const first = (records / PER_PAGE - PAGES) / 2
  const others = Array.from({ length: PAGES - 1 }, (_, i) => pathOf(first + 1 + i))
  return [pathOf(first), ...others]
}

function whileWriting(
  { name, warmUp, measure }: Required<Contender>,
  server: Connbook,
  headers: Readonly<Record<string, string>>,
  records: number,
): Contender {
  // Goes on from round to round, for each record is added once.
  let index = 0
  const beside = async <T>(action: () => Promise<T>): Promise<T> => {
    const writes = startSteadyRequests(server.url, headers, WRITES_PER_SECOND, () =>
      writeOf(index++, records),
    )
    try {
      return await Promise.race([action(), writes.failed])
    } finally {
      writes.stop()
    }
  }
  return { name, warmUp: () => beside(warmUp), measure: () => beside(measure) }
}
