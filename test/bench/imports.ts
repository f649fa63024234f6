import { createClient } from '../support/http-client.ts'
import { fieldsOf } from './data-folders.ts'
import type { Sample } from './figure.ts'
import { countText, FEW, MANY } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { rowsOf, type Section, valueAtMost } from './row.ts'
import { getBearer, startConnbookOnCopy } from './servers.ts'
import { sharedNow } from './shared-clock.ts'
import { latenciesIn, startSteadyRequests } from './steady-requests.ts'

const READS_PER_SECOND = 500

/** Many records in one request, and what others notice of it. */
export async function measureImports(few: string, workshop: string): Promise<Section> {
  const body = csvOf(MANY)
  const [imports] = await measureInTurn([
    { name: 'connbook', measure: () => importInto(few, workshop, body) },
  ])
  return {
    title: `Import of ${countText(MANY)} records as CSV; meanwhile others read ${READS_PER_SECOND} records a second`,
    rows: [
      ...rowsOf(`import of ${countText(MANY)}`, imports, undefined, {
        lastByteMilliseconds: valueAtMost(5_000),
      }),
      ...rowsOf('others, during the import', imports, undefined, {
        latencyP50: undefined,
        latencyP99: undefined,
        latencyMax: undefined,
      }),
    ],
  }
}

/** Into a server of its own, for which most of the records are new. */
async function importInto(prepared: string, workshop: string, body: string): Promise<Sample> {
  await using server = await startConnbookOnCopy(prepared, workshop)
  const headers = await getBearer(server)
  const makeRequest = (index: number) => ({
    method: 'GET',
    path: `/configurations/record-${1 + (index % FEW)}`,
  })
  const reads = startSteadyRequests(server.url, headers, READS_PER_SECOND, makeRequest)
  try {
    const begin = sharedNow()
    const importing = createClient(server.url, headers)('POST', '/v1/import?format=csv', { body })
    const answer = await Promise.race([importing, reads.failed])
    const end = sharedNow()
    if (answer.status !== 200) throw new Error(`POST /v1/import: ${answer.status} ${answer.text}`)
    return { lastByteMilliseconds: end - begin, ...latenciesIn(reads.answered, { begin, end }) }
  } finally {
    reads.stop()
  }
}

function csvOf(count: number): string {
  const rows = Array.from({ length: count }, (_, i) => {
    const { name, hostname, port, username } = fieldsOf(i + 1)
    return `${name},${hostname},${port},${username}\n`
  })
  return `name,hostname,port,username\n${rows.join('')}`
}
