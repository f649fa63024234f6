import { startCluster, toBase64 } from './cluster.ts'
import type { Sample } from './figure.ts'
import { measureInTurn } from './rounds.ts'
import { rowsOf, type Section, valueAtMost } from './row.ts'
import type { ServerProcess } from './server-process.ts'
import { getBearer } from './servers.ts'
import { quantile } from './statistics.ts'

const MEMBERS = 3
const CHANGES = 300

/** How long after its acknowledgement another node has a change, beside a watch of another member of etcd. */
export async function measureFollowing(few: string, workshop: string): Promise<Section> {
  await using cluster = await startCluster(few, workshop, MEMBERS)
  const { leader, followers } = cluster
  const [follower = leader] = followers
  await using node = await cluster.startNode(leader)
  await using other = await cluster.startNode(follower)
  const headers = await getBearer(node)
  let changes = 0
  const connbook = async () => {
    const path = '/configurations/record-1'
    // Not by an event stream, which waits to send several changes at once.
    const read = { when: (text: string) => readUntil(`${other.url}${path}`, { headers }, text) }
    return await sampleOf(read, () => {
      const text = `ops-${changes++}.`
      const body = JSON.stringify({ username: text })
      return {
        text,
        done: change(node, path, { method: 'PATCH', headers: { ...headers, ...JSON_TYPE }, body }),
      }
    })
  }
  const raw = async () => {
    const key = toBase64('raw')
    const watch = { method: 'POST', body: JSON.stringify({ create_request: { key } }) }
    await using heard = await listen(`${follower.url}/v3/watch`, watch)
    return await sampleOf(heard, () => {
      const text = toBase64(`value-${changes++}`)
      const body = JSON.stringify({ key, value: text })
      return { text, done: change(leader, '/v3/kv/put', { method: 'POST', body }) }
    })
  }
  const [ofConnbook, bare] = await measureInTurn([
    { name: 'connbook', warmUp: connbook, measure: connbook },
    { name: 'raw gateway', warmUp: raw, measure: raw },
  ])
  return {
    title:
      'From the acknowledgement of a change to the first read of it at another node, which is read all the time; the raw gateway: a put, and a watch at another member',
    rows: rowsOf('a change reaches the other node', ofConnbook, bare, {
      latencyP50: valueAtMost(1),
      latencyP99: valueAtMost(25),
    }),
  }
}

const JSON_TYPE = { 'Content-Type': 'application/json' }

/** Where changes are seen. */
interface Place {
  /** Resolves with the time when the text was there. */
  when(text: string): Promise<number>
}

async function readUntil(url: string, init: RequestInit, text: string): Promise<number> {
  for (;;) {
    const answer = await fetch(url, init)
    if ((await answer.text()).includes(text)) return performance.now()
  }
}

/** Opens a stream, and waits for its first bytes. */
async function listen(url: string, init: RequestInit): Promise<Place & AsyncDisposable> {
  const answer = await fetch(url, init)
  const { body } = answer
  if (answer.status !== 200 || body === null)
    throw new Error(`${url} should be answered 200, but is ${answer.status}`)
  let wanted = ''
  let found = (_: number) => {}
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  await reader.read()
  const reading = readOn()
  reading.catch(() => {})
  return {
    async when(text) {
      const { promise, resolve } = Promise.withResolvers<number>()
      wanted = text
      found = resolve
      return Promise.race([promise, reading])
    },
    async [Symbol.asyncDispose]() {
      await reader.cancel()
      await reading.catch(() => {})
    },
  }

  async function readOn(): Promise<never> {
    for (let tail = ''; ; ) {
      const { value } = await reader.read()
      if (value === undefined) throw new Error(`${url} has ended`)
      tail += value
      if (wanted === '' || !tail.includes(wanted)) continue
      tail = ''
      found(performance.now())
    }
  }
}

/** Makes changes one after the other. */
async function sampleOf(
  place: Place,
  make: () => { readonly text: string; readonly done: Promise<number> },
): Promise<Sample> {
  const waits: number[] = []
  for (let i = 0; i < CHANGES; i++) {
    const { text, done } = make()
    const [acknowledged, came] = await Promise.all([done, place.when(text)])
    waits.push(Math.max(0, came - acknowledged))
  }
  return { latencyP50: quantile(waits, 0.5), latencyP99: quantile(waits, 0.99) }
}

/** @returns When it was acknowledged. */
async function change({ url }: ServerProcess, path: string, init: RequestInit): Promise<number> {
  const answer = await fetch(url + path, init)
  const acknowledged = performance.now()
  const text = await answer.text()
  if (answer.status !== 200)
    throw new Error(`${path} should be answered 200, but is ${answer.status}: ${text}`)
  return acknowledged
}
