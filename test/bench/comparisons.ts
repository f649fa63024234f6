import { createClient } from '../support/http-client.ts'
import type { Comparison, Sample } from './comparison.ts'
import { copyOf, newPath } from './data-folders.ts'
import { checkAnswer, readAnswer } from './full-answer.ts'
import { CONNECTIONS, type Load, measureLoad } from './load.ts'
import type { ServerProcess } from './server-process.ts'
import { getBearer, prepareFolder, startBareAnswer, startBareCommit, startConnbook } from './servers.ts'

const FEW = 1_000
const MANY = 200_000
const LOAD_ROUNDS = 3
const STARTS = 7

const getOne = { path: '/configurations/record-500', warmUpRequests: 40_000, requests: 120_000 }
/** Enough for one snapshot to be written meanwhile. */
const add = {
  path: '/configurations/',
  method: 'POST',
  body: JSON.stringify({ name: 'new-[<id>]', hostname: 'new.example', port: 22, username: 'ops' }),
  warmUpRequests: 20_000,
  requests: 40_000,
}
/** Over before a snapshot is due, which comes sooner for a few records and is cheaper then. */
const addBetweenSnapshots = { ...add, requests: 12_000 }

/**
 * Everything that is compared.
 *
 * @param workshop A folder for data folders, on the disk that is to be measured.
 */
export async function createComparisons(workshop: string): Promise<Comparison[]> {
  const few = await prepareFolder(workshop, FEW)
  const many = await prepareFolder(workshop, MANY)
  // The baselines get the same requests, so the same header fields, and pay them no attention.
  const { bearer, answer } = await askConnbook()

  return [
    {
      title: `GET one record with a bearer, ${CONNECTIONS} connections`,
      subject: { name: 'connbook', measure: () => loadConnbook(few, getOne) },
      baseline: { name: 'bare node:http', measure: loadBareAnswer },
      targets: [{ figure: 'cpuMicroseconds', atMost: 1.3 }, { figure: 'perSecond' }],
      rounds: LOAD_ROUNDS,
    },
    {
      title: `Durable add, ${CONNECTIONS} connections; the baseline appends the body to a file and knows no records`,
      subject: { name: 'connbook', measure: () => loadConnbook(few, add) },
      baseline: { name: 'bare node:http', measure: loadBareCommit },
      targets: [{ figure: 'perSecond', atLeast: 0.5 }, { figure: 'cpuMicroseconds' }],
      rounds: LOAD_ROUNDS,
    },
    {
      title: `Durable add with many records present and with few, between two snapshots, ${CONNECTIONS} connections`,
      subject: { name: `${MANY} records`, measure: () => loadConnbook(many, addBetweenSnapshots) },
      baseline: { name: `${FEW} records`, measure: () => loadConnbook(few, addBetweenSnapshots) },
      targets: [{ figure: 'cpuMicroseconds', atMost: 1.3 }, { figure: 'perSecond' }],
      rounds: LOAD_ROUNDS,
    },
    {
      title: 'Start, from spawn to the first 200 of /healthz; connbook makes its folder and first accounts',
      subject: { name: 'connbook', measure: startAfresh },
      baseline: { name: 'bare node:http', measure: () => timeStart(() => startBareAnswer(answer)) },
      targets: [{ figure: 'startMilliseconds', atMost: 3 }],
      rounds: STARTS,
      warmUpRounds: 1,
    },
  ]

  async function askConnbook() {
    await using server = await startConnbook(await copyOf(few, workshop))
    const bearer = await getBearer(server)
    return { bearer, answer: await readAnswer(server.url + getOne.path, bearer) }
  }

  async function loadConnbook(folder: string, load: Load): Promise<Sample> {
    await using server = await startConnbook(await copyOf(folder, workshop))
    return await measureLoad(server, { ...load, headers: await getBearer(server) })
  }

  async function loadBareAnswer(): Promise<Sample> {
    await using server = await startBareAnswer(answer)
    await checkAnswer(server.url, answer)
    return await measureLoad(server, { ...getOne, headers: bearer })
  }

  async function loadBareCommit(): Promise<Sample> {
    await using server = await startBareCommit(workshop)
    return await measureLoad(server, { ...add, headers: bearer })
  }

  async function startAfresh(): Promise<Sample> {
    const path = await newPath(workshop)
    return await timeStart(() => startConnbook(path))
  }
}

async function timeStart(start: () => Promise<ServerProcess>): Promise<Sample> {
  const begin = performance.now()
  await using server = await start()
  const { status } = await createClient(server.url)('GET', '/healthz')
  const startMilliseconds = performance.now() - begin
  if (status !== 200) throw new Error(`GET /healthz: ${status}`)
  return { startMilliseconds }
}
