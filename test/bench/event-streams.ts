import { setTimeout as pause } from 'node:timers/promises'
import { getToken } from '../support/api.ts'
import { copyOf } from './data-folders.ts'
import type { Sample } from './figure.ts'
import { readAnswer } from './full-answer.ts'
import { followMemory } from './memory.ts'
import { countText } from './prepared-folders.ts'
import { RawConnections } from './raw-connections.ts'
import { addReaders } from './reader-accounts.ts'
import { LONG_ROUNDS, measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section, valueAtMost } from './row.ts'
import type { ServerProcess } from './server-process.ts'
import { copyPrograms, getBearer, startBareStreams, startConnbook } from './servers.ts'
import { sharedNow } from './shared-clock.ts'
import { summarize } from './statistics.ts'
import { latenciesIn, type SteadyRequest, startSteadyRequests } from './steady-requests.ts'

const STREAMS = 1_000
const ACCOUNTS = 8
const CHANGES_PER_SECOND = 100
const READS_PER_SECOND = 500
const MEASURED_MS = 5_000
const LOOK_MS = 50
const DEADLINE_MS = 10_000
/** What a stream may have got less than another: comments. */
const BYTES_SHARE_MIN = 0.99

const events = '/v1/events'
const record = '/configurations/record-1'

/**
 * What event streams cost, and what others notice of them.
 *
 * @param prepared A folder with records; not changed.
 * @param streams Fewer for a trial.
 */
export async function measureEventStreams(
  prepared: string,
  workshop: string,
  streams = STREAMS,
): Promise<Section> {
  const folder = await copyOf(prepared, workshop)
  const readers = await addReaders(folder, ACCOUNTS)
  const programs = await copyPrograms(workshop)
  await using server = await startConnbook(folder, { program: [programs.connbook] })
  const headers = await getBearer(server)
  const answer = await readAnswer(server.url + record, headers)
  await using bareServer = await startBareStreams(answer, programs.node)
  const tokens = await Promise.all(readers.map((reader) => getToken(server.url, reader)))
  using ofConnbook = await openStreams(server, streams, (i) => tokens[i % ACCOUNTS]?.Authorization)
  using ofBare = await openStreams(bareServer, streams)

  let changes = 0
  /** What connbook wrote to each stream in its last round. */
  let written: readonly string[] = []
  const tellChanges = async () => {
    const pieces: Buffer[] = []
    ofConnbook.listen((index, piece) => {
      if (index === 0) pieces.push(piece)
    })
    const sample = await observe(server, ofConnbook, headers, CHANGES_PER_SECOND, () => {
      const body = JSON.stringify({ username: `ops-${changes++}` })
      return { method: 'PATCH', path: record, body }
    })
    written = pieces.map(String)
    return sample
  }
  const writeTheSame = () => {
    let index = 0
    const perSecond = (written.length * 1000) / MEASURED_MS
    return observe(bareServer, ofBare, headers, perSecond, () => {
      const body = written[index++ % written.length] ?? ''
      return { method: 'POST', path: events, body }
    })
  }
  const [connbook, bare] = await measureInTurn(
    [
      { name: 'connbook', warmUp: tellChanges, measure: tellChanges },
      { name: 'bare node:http', warmUp: writeTheSame, measure: writeTheSame },
    ],
    LONG_ROUNDS,
  )
  const work = `${countText(streams)} event streams, ${CHANGES_PER_SECOND} changes/s`
  return {
    title: `Event streams of ${ACCOUNTS} accounts; the bare server writes the same bytes in as many writes; meanwhile others read ${READS_PER_SECOND} records a second`,
    rows: [
      ...rowsOf(work, connbook, bare, {
        cpuCores: ratioAtMost(1.5),
        residentMebibytes: ratioAtMost(1.3),
      }),
      ...rowsOf(`others, beside ${work}`, connbook, bare, {
        latencyP50: undefined,
        latencyP99: valueAtMost(50),
        latencyMax: undefined,
      }),
    ],
  }
}

async function openStreams(
  server: ServerProcess,
  count: number,
  authorizationOf: (index: number) => string | undefined = () => undefined,
): Promise<RawConnections> {
  const streams = await RawConnections.open(server.url, count)
  const { host } = new URL(server.url)
  const answered = streams.untilAnswered()
  streams.send((index) => {
    const authorization = authorizationOf(index)
    const field = authorization === undefined ? [] : [`Authorization: ${authorization}`]
    return [`GET ${events} HTTP/1.1`, `Host: ${host}`, ...field]
  })
  await answered
  return streams
}

/** Makes the changes that the streams send, reads one record again and again, and looks at the server. */
async function observe(
  server: ServerProcess,
  streams: RawConnections,
  headers: Readonly<Record<string, string>>,
  perSecond: number,
  makeRequest: () => SteadyRequest,
): Promise<Sample> {
  const before = streams.bytes()
  const memory = followMemory(server)
  const reads = startSteadyRequests(server.url, headers, READS_PER_SECOND, () => ({
    method: 'GET',
    path: record,
  }))
  const told = startSteadyRequests(server.url, headers, perSecond, makeRequest)
  try {
    const cpuBefore = server.cpuSeconds()
    const begin = sharedNow()
    await Promise.race([pause(MEASURED_MS), reads.failed, told.failed, streams.failed])
    const end = sharedNow()
    const cpuCores = ((server.cpuSeconds() - cpuBefore) * 1000) / (end - begin)
    told.stop()
    await untilAllGot(streams, before)
    return {
      cpuCores,
      residentMebibytes: summarize(memory.during({ begin, end })).max,
      ...latenciesIn(reads.answered, { begin, end }),
    }
  } finally {
    reads.stop()
    told.stop()
    memory.stop()
  }
}

/** Waits for what is on its way. @throws {Error} when a stream has got less than the others, or nothing. */
async function untilAllGot(streams: RawConnections, before: readonly number[]) {
  const deadline = performance.now() + DEADLINE_MS
  for (;;) {
    const { min, max } = summarize(streams.bytes().map((bytes, i) => bytes - (before[i] ?? 0)))
    if (max > 0 && min >= BYTES_SHARE_MIN * max) return
    if (performance.now() > deadline) throw new Error(`The streams got between ${min} and ${max} bytes`)
    await pause(LOOK_MS)
  }
}
