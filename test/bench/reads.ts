import { readAnswer } from './full-answer.ts'
import { startJsonServer } from './json-server.ts'
import { CONNECTIONS } from './load.ts'
import { loadContender } from './load-contender.ts'
import { countText, FEW } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section } from './row.ts'
import { type Connbook, getBearer, getCookie, startBareAnswer } from './servers.ts'

const paths = ['/configurations/record-500'] as const

/** One record, by each credential and unchanged. */
export async function compareReads(few: Connbook, workshop: string): Promise<Section> {
  const bearer = await getBearer(few)
  const cookie = await getCookie(few)
  const answer = await readAnswer(few.url + paths[0], bearer)
  const etag = answer.fields.find(([name]) => name === 'ETag')?.[1] ?? ''
  const conditional = { ...bearer, 'If-None-Match': etag }
  const unchanged = await readAnswer(few.url + paths[0], conditional)

  // They get the same requests, so the same header fields, and pay them no attention.
  await using bare200 = await startBareAnswer(answer)
  await using bare304 = await startBareAnswer(unchanged)
  await using jsonServer = await startJsonServer(workshop, FEW)
  const [byBearer, bare, byCookie, notModified, bareNotModified, other] = await measureInTurn([
    loadContender('connbook', few, { paths, headers: bearer }),
    loadContender('bare node:http', bare200, { paths, headers: bearer }),
    loadContender('connbook', few, { paths, headers: cookie }),
    loadContender('connbook', few, { paths, headers: conditional, status: 304 }),
    loadContender('bare node:http', bare304, { paths, headers: conditional, status: 304 }),
    loadContender('json-server', jsonServer, { paths: ['/configurations/500'] }),
  ])
  const others = { perSecond: undefined, latencyP50: undefined, latencyP99: undefined }
  return {
    title: `GET one record of ${countText(FEW)}, ${CONNECTIONS} connections; the bare server answers the same bytes`,
    rows: [
      ...rowsOf('GET one record, bearer', byBearer, bare, { cpuMicroseconds: ratioAtMost(1.12), ...others }),
      ...rowsOf('GET one record, session cookie', byCookie, bare, {
        cpuMicroseconds: ratioAtMost(1.15),
        ...others,
      }),
      ...rowsOf('GET one record, answered 304', notModified, bareNotModified, {
        cpuMicroseconds: undefined,
        ...others,
      }),
      ...rowsOf('GET one record, 304 by a bare 200', notModified, bare, {
        cpuMicroseconds: ratioAtMost(1.1),
        ...others,
      }),
      ...rowsOf('GET one record, bearer', byBearer, other, { cpuMicroseconds: undefined, ...others }),
    ],
  }
}
