import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Sample } from './figure.ts'
import { measureLoad } from './measure-load.ts'
import { followMemory } from './memory.ts'
import { countText, MANY } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section, valueAtMost } from './row.ts'
import { type Connbook, getBearer } from './servers.ts'
import { sharedNow } from './shared-clock.ts'
import { summarize } from './statistics.ts'
import { latenciesIn, startSteadyRequests } from './steady-requests.ts'

const LISTS = 5
const MEASURED_MS = 1_500
const READS_PER_SECOND = 500
const path = '/configurations/'

/** All records in one answer, and what others notice of it. */
export async function measureWholeList(server: Connbook): Promise<Section> {
  const headers = await getBearer(server)
  const residentMebibytes = server.residentMebibytes()
  const listing = () => measureLoad(server, { paths: [path], headers, connections: 1 }, MEASURED_MS)
  const [alone, beside, without] = await measureInTurn([
    {
      name: 'connbook',
      warmUp: () => timeList(server.url, headers),
      measure: () => timeLists(server.url, headers),
    },
    { name: 'while listing', warmUp: listing, measure: () => readBeside(listing) },
    { name: 'otherwise', measure: () => readBeside(() => pause(MEASURED_MS)) },
  ])
  const beforeFirst = { name: 'before the first', samples: beside.samples.map(() => ({ residentMebibytes })) }
  return {
    title: `Whole list of ${countText(MANY)} records; meanwhile others read ${READS_PER_SECOND} records a second`,
    rows: [
      ...rowsOf(`whole list of ${countText(MANY)}`, alone, undefined, {
        firstByteMilliseconds: valueAtMost(20),
        lastByteMilliseconds: undefined,
      }),
      ...rowsOf('others, while whole lists are read', beside, without, {
        latencyP50: undefined,
        latencyP99: valueAtMost(20),
        latencyMax: undefined,
      }),
      ...rowsOf('server, while whole lists are read', beside, beforeFirst, {
        residentMebibytes: ratioAtMost(1.25),
      }),
    ],
  }

  /** One record again and again, and the memory at its highest. */
  async function readBeside(action: () => Promise<unknown>): Promise<Sample> {
    const memory = followMemory(server)
    const makeRequest = (index: number) => ({
      method: 'GET',
      path: `/configurations/record-${1 + (index % MANY)}`,
    })
    const reads = startSteadyRequests(server.url, headers, READS_PER_SECOND, makeRequest)
    try {
      const begin = sharedNow()
      await Promise.race([action(), reads.failed])
      const period = { begin, end: sharedNow() }
      return {
        ...latenciesIn(reads.answered, period),
        residentMebibytes: summarize(memory.during(period)).max,
      }
    } finally {
      reads.stop()
      memory.stop()
    }
  }
}

async function timeLists(url: string, headers: Readonly<Record<string, string>>): Promise<Sample> {
  const samples: Awaited<ReturnType<typeof timeList>>[] = []
  for (let i = 0; i < LISTS; i++) samples.push(await timeList(url, headers))
  return {
    firstByteMilliseconds: summarize(samples.map(({ firstByte }) => firstByte)).median,
    lastByteMilliseconds: summarize(samples.map(({ lastByte }) => lastByte)).median,
  }
}

async function timeList(url: string, headers: Readonly<Record<string, string>>) {
  const begin = performance.now()
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  get(url + path, { headers, agent: false }, resolve).on('error', reject)
  const response = await promise
  const firstByte = performance.now() - begin
  if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.statusCode}`)
  response.resume()
  await once(response, 'end')
  return { firstByte, lastByte: performance.now() - begin }
}
