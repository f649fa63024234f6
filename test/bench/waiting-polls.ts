import { setTimeout as pause } from 'node:timers/promises'
import { getToken } from '../support/api.ts'
import { createClient } from '../support/http-client.ts'
import { copyOf } from './data-folders.ts'
import type { Sample } from './figure.ts'
import { readAnswer } from './full-answer.ts'
import { countText } from './prepared-folders.ts'
import { RawConnections } from './raw-connections.ts'
import { addReaders } from './reader-accounts.ts'
import { measureInTurn } from './rounds.ts'
import { rowsOf, type Section, valueAtMost } from './row.ts'
import { getBearer, startConnbook } from './servers.ts'

const POLLS = 1_000
const ACCOUNTS = 8
const WAIT_SECONDS = 50
const LOOK_MS = 20
const DEADLINE_MS = 10_000
const record = '/configurations/record-1'

/**
 * Many reads that wait for a change of one record.
 *
 * @param prepared A folder with records; not changed.
 * @param polls Fewer for a trial.
 */
export async function measureWaitingPolls(
  prepared: string,
  workshop: string,
  polls = POLLS,
): Promise<Section> {
  const folder = await copyOf(prepared, workshop)
  const readers = await addReaders(folder, ACCOUNTS)
  await using server = await startConnbook(folder)
  const headers = await getBearer(server)
  const tokens = await Promise.all(readers.map((reader) => getToken(server.url, reader)))
  using connections = await RawConnections.open(server.url, polls)
  const { host } = new URL(server.url)
  const ask = createClient(server.url, headers)
  let changes = 0

  const changeWhileAllWait = async (): Promise<Sample> => {
    const { etag } = (await ask('GET', record)).headers
    connections.send((index) => [
      `GET ${record} HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: ${tokens[index % ACCOUNTS]?.Authorization}`,
      `If-None-Match: ${etag}`,
      `Prefer: wait=${WAIT_SECONDS}`,
    ])
    await untilAllWait()
    const answered = connections.untilAnswered()
    const begin = performance.now()
    const changed = ask('PATCH', record, { body: { username: `ops-${changes++}` } })
    await answered
    const lastByteMilliseconds = performance.now() - begin
    const { status } = await changed
    if (status !== 200) throw new Error(`PATCH ${record}: ${status}`)
    return { lastByteMilliseconds }
  }
  const untilAllWait = async () => {
    const deadline = performance.now() + DEADLINE_MS
    for (;;) {
      const { body } = await readAnswer(`${server.url}/metrics`, headers)
      const waiting = Number(/^connbook_waiting_polls (\d+)$/m.exec(body)?.[1])
      if (waiting === polls) return
      if (performance.now() > deadline) throw new Error(`Only ${waiting} of ${polls} polls wait`)
      await pause(LOOK_MS)
    }
  }
  const [connbook] = await measureInTurn([
    { name: 'connbook', warmUp: changeWhileAllWait, measure: changeWhileAllWait },
  ])
  return {
    title: `Reads of ${ACCOUNTS} accounts that wait for one record, from when a change is sent to the last answer`,
    rows: rowsOf(`${countText(polls)} waiting reads of one record`, connbook, undefined, {
      lastByteMilliseconds: valueAtMost(100),
    }),
  }
}
