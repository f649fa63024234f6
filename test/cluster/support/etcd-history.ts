import { type IncomingMessage, request } from 'node:http'
import type { EtcdMember } from './etcd.ts'
import { createEtcdClient, type Entry, encode, readEntry } from './etcd-client.ts'
import type { MarkedRecord, Step } from './history.ts'

interface RawEvent {
  readonly type?: string
  readonly kv: Record<string, unknown>
}

/** The key whose change ends the reading; outside all prefixes. */
const END = 'end-of-history'

/** All that etcd has changed below a prefix so far, by revision; nothing of it may be compacted. */
export async function readSteps({ url }: EtcdMember, prefix: string): Promise<Step[]> {
  const last = await createEtcdClient(url).put(END, '')
  const steps = new Map<
    number,
    { puts: MarkedRecord[]; removed: string[]; batches: Step['batches'][number][] }
  >()
  for await (const { isRemoval, entry } of eventsUpTo(url, last)) {
    const { key, modRevision: revision } = entry
    if (!key.startsWith(prefix)) continue
    const step = steps.get(revision) ?? { puts: [], removed: [], batches: [] }
    steps.set(revision, step)
    const [kind, ...rest] = key.slice(prefix.length).split('/')
    // Behind the hash; a name may have slashes.
    const name = rest.slice(1).join('/')
    if (kind === 'r' && isRemoval) step.removed.push(name)
    else if (kind === 'r') step.puts.push(readRecord(entry))
    else if (kind === 'w' && !isRemoval)
      step.batches.push({ node: rest.join('/'), number: Number(JSON.parse(entry.value).batch) })
  }
  return [...steps].map(([revision, step]) => ({ revision, ...step }))
}

/** The records below a prefix. */
export async function readRecords({ url }: EtcdMember, prefix: string): Promise<MarkedRecord[]> {
  return (await createEtcdClient(url).list(`${prefix}r/`)).map(readRecord)
}

function readRecord({ value }: Entry): MarkedRecord {
  const { id, name, hostname } = JSON.parse(value)
  return { id, name, mark: hostname }
}

async function* eventsUpTo(url: string, last: number) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const outgoing = request(`${url}/v3/watch`, { method: 'POST', agent: false }, resolve)
  outgoing.on('error', reject)
  outgoing.end(
    JSON.stringify({ create_request: { key: encode('\0'), range_end: encode('\0'), start_revision: '1' } }),
  )
  try {
    for await (const line of linesOf(await promise)) {
      const { result, error } = JSON.parse(line)
      if (result === undefined || result.canceled)
        throw new Error(`cannot read the history: ${line} ${error}`)
      for (const { type, kv } of (result.events ?? []) as RawEvent[]) {
        const entry = readEntry(kv)
        if (entry.modRevision >= last) return
        yield { isRemoval: type === 'DELETE', entry }
      }
    }
    throw new Error('the history has ended early')
  } finally {
    outgoing.destroy()
  }
}

async function* linesOf(incoming: IncomingMessage) {
  let begun = ''
  for await (const chunk of incoming.setEncoding('utf8')) {
    const lines = (begun + chunk).split('\n')
    begun = lines.pop() ?? ''
    yield* lines
  }
}
