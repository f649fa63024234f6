import { missingEtcd, startEtcd } from './etcd.ts'
import { startJsonServer } from './json-server.ts'
import { CONNECTIONS, type Load, UNIQUE_DIGITS } from './load.ts'
import { loadContender } from './load-contender.ts'
import { FEW } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { ratioAtLeast, rowsOf, type Section } from './row.ts'
import { getBearer, startBareCommit, startConnbookOnCopy } from './servers.ts'

const paths = ['/configurations/'] as const
const others = { latencyP50: undefined, latencyP99: undefined }

/** One add of a record of its own in each request. */
export const addOfNew: Load = {
  method: 'POST',
  paths,
  body: JSON.stringify({ name: `new-${UNIQUE_DIGITS}`, hostname: 'new.example', port: 22, username: 'ops' }),
}

/** Adds, each on disk before its answer, but for json-server's. */
export async function compareAdds(few: string, workshop: string): Promise<Section> {
  await using connbookServer = await startConnbookOnCopy(few, workshop)
  await using bareServer = await startBareCommit(workshop)
  await using jsonServer = await startJsonServer(workshop, FEW)
  await using etcdServer = missingEtcd === false ? await startEtcd(workshop) : undefined

  const headers = await getBearer(connbookServer)
  const [connbook, bare, json, etcd] = await measureInTurn([
    loadContender('connbook', connbookServer, { ...addOfNew, headers }),
    loadContender('bare group commit', bareServer, { ...addOfNew, headers }),
    loadContender('json-server', jsonServer, { ...addOfNew, paths: ['/configurations'], status: 201 }),
    ...(etcdServer ? [loadContender('etcd', etcdServer, putOfNew)] : []),
  ] as const)
  return {
    title: `Durable add, ${CONNECTIONS} connections; the bare server appends the body to a file and knows no records`,
    rows: [
      ...rowsOf('durable add', connbook, bare, {
        perSecond: ratioAtLeast(0.78),
        cpuMicroseconds: undefined,
        ...others,
      }),
      ...(etcd
        ? rowsOf('durable add', connbook, etcd, {
            perCpuSecond: ratioAtLeast(3),
            perSecond: undefined,
            ...others,
          })
        : []),
      ...rowsOf('durable add, json-server without sync', connbook, json, {
        perSecond: ratioAtLeast(10),
        cpuMicroseconds: undefined,
        ...others,
      }),
    ],
  }
}

/** The same record as a value, through the JSON gateway of etcd; digits are Base64, too, as they stand. */
export const putOfNew: Load = {
  method: 'POST',
  paths: ['/v3/kv/put'],
  body: JSON.stringify({
    key: `bmV3${UNIQUE_DIGITS}`,
    value: Buffer.from(addOfNew.body ?? '').toString('base64'),
  }),
}
