import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { parseListTag } from '../../../src/store/list-tag.ts'
import { getToken, pathOf } from '../../support/api.ts'
import { type Answer, type Ask, createClient, recordsIn } from '../../support/http-client.ts'
import type { Random } from '../../support/random.ts'
import { client as credentials } from '../../support/service.ts'
import type { Lifetime } from '../../support/temporary-folder.ts'
import type { Intent, MarkedRecord, Operation, Outcome, Read } from './history.ts'

/** After a failure, so that nobody spins. */
const FAILURE_PAUSE_MS = 20
const OWN_NAMES = 4
const SHARED_NAMES = 3

/** Where a client may send requests. */
export interface LoadTarget {
  readonly name: string
  readonly url: string
}

/** Clients that change and read records at all nodes, and write down what they saw. */
export interface Load {
  readonly operations: readonly Operation[]
  readonly reads: readonly Read[]
  /** How many changes were acknowledged so far. */
  readonly acknowledged: number
  /** Resolves when so many more were acknowledged, at any node or at one. */
  more(changes: number, node?: string): Promise<void>
  /** Resolves when so many more were tried, whatever came of them. */
  tried(changes: number): Promise<void>
  /** Resolves when all clients have their last answer. */
  stop(): Promise<void>
}

/**
 * Starts clients; each changes names of its own and, now and then, names that all share, so that they meet each other.
 *
 * @param readers How many more clients read lists all the time.
 * @param answerMs How long a client waits for an answer before it turns to another node.
 */
export async function startLoad(
  t: Lifetime,
  targets: readonly LoadTarget[],
  {
    random,
    writers = 6,
    readers = 2,
    answerMs = 3_000,
  }: { random: Random; writers?: number; readers?: number; answerMs?: number },
): Promise<Load> {
  const agent = new Agent({ keepAlive: true })
  const [first] = targets
  if (first === undefined) throw new RangeError('no node')
  const authorization = await getToken(first.url, credentials)
  const asks = targets.map((target) => ({ target, ask: createClient(target.url, authorization, { agent }) }))
  const operations: Operation[] = []
  const reads: Read[] = []
  const isOver = new AbortController()
  const failure = Promise.withResolvers<never>()
  const heard = new Set<() => void>()
  let marks = 0

  const running = [
    ...Array.from({ length: writers }, (_, i) => write(`writer ${i}`, i)),
    ...Array.from({ length: readers }, (_, i) => read(i)),
  ]
  const all = Promise.all(running)
  // Whoever waits for more hears of it; `stop` throws it as well.
  all.catch(failure.reject)
  failure.promise.catch(() => {})
  t.after(async () => {
    isOver.abort()
    await Promise.allSettled(running)
    agent.destroy()
  })

  async function write(client: string, number: number) {
    const own = Array.from({ length: OWN_NAMES }, (_, i) => `own-${number}/${i}`)
    const shared = Array.from({ length: SHARED_NAMES }, (_, i) => `shared/${i}`)
    const believed = new Map<string, boolean>()
    let place = number
    while (!isOver.signal.aborted) {
      const { target, ask } = pickAt(asks, place)
      const names = random.integer(1, 4) === 1 ? shared : own
      const intent = chooseIntent(names, believed, random, `m${++marks}.example`)
      const invokedAt = performance.now()
      const outcome = await outcomeOf(inTime(send(intent, ask), answerMs))
      const respondedAt = performance.now()
      operations.push({ client, node: target.name, intent, invokedAt, respondedAt, outcome })
      believe(believed, intent, outcome)
      for (const look of heard) look()
      const isDown = outcome.kind === 'unknown' || (outcome.kind === 'refused' && isFailure(outcome.status))
      if (isDown) await pause(FAILURE_PAUSE_MS)
      if (isDown || random.integer(1, 20) === 1) place += 1
    }
  }

  async function read(number: number) {
    for (let place = number; !isOver.signal.aborted; place++) {
      const { target, ask } = pickAt(asks, place)
      const isFresh = random.integer(0, 1) === 1
      const headers = isFresh ? { 'Cache-Control': 'no-cache' } : {}
      const invokedAt = performance.now()
      const answer = await inTime(ask('GET', '/configurations/', { headers }), answerMs)
      const respondedAt = performance.now()
      if (answer instanceof Error || answer.status === 503) await pause(FAILURE_PAUSE_MS)
      else reads.push({ node: target.name, isFresh, invokedAt, respondedAt, ...readList(answer) })
    }
  }

  const isOk = (node: string | undefined) => (operation: Operation) =>
    operation.outcome.kind === 'ok' && (node === undefined || operation.node === node)
  const count = (node?: string) => operations.filter(isOk(node)).length
  function until(more: number, counted: () => number): Promise<void> {
    const goal = counted() + more
    const { promise, resolve } = Promise.withResolvers<void>()
    const look = () => {
      if (counted() >= goal) resolve()
    }
    heard.add(look)
    return Promise.race([promise, failure.promise]).finally(() => heard.delete(look))
  }
  return {
    operations,
    reads,
    get acknowledged() {
      return count()
    },
    more: (changes, node) => until(changes, () => count(node)),
    tried: (changes) => until(changes, () => operations.length),
    async stop() {
      isOver.abort()
      await all
    },
  }
}

/** The records of a list, and the revision in its tag. */
export function readList(answer: Answer): { revision: number; records: MarkedRecord[] } {
  const tag = parseListTag(String(answer.headers.etag).replaceAll('"', ''))
  if (answer.status !== 200 || tag === undefined) throw new Error(`no list: ${answer.status} ${answer.text}`)
  const records = recordsIn(answer).map(({ id, name, hostname }) => ({ id, name, mark: hostname }))
  return { revision: tag.revision, records }
}

/** Usually a change that should succeed, as far as the client knows. */
function chooseIntent(
  names: readonly string[],
  believed: ReadonlyMap<string, boolean>,
  random: Random,
  mark: string,
): Intent {
  const name = random.pick(names)
  const isLikely = random.integer(1, 10) > 1
  if ((believed.get(name) ?? false) !== isLikely) return { kind: 'add', name, mark }
  const choice = random.integer(1, 6)
  if (choice === 1) return { kind: 'remove', name }
  const newName = names.find((other) => other !== name && !believed.get(other))
  if (choice <= 3 && newName !== undefined) return { kind: 'rename', name, newName, mark }
  return { kind: 'modify', name, mark }
}

function believe(believed: Map<string, boolean>, intent: Intent, outcome: Outcome) {
  const { kind, name } = intent
  if (outcome.kind === 'ok') {
    believed.set(name, kind === 'add' || kind === 'modify')
    if (kind === 'rename') believed.set(intent.newName, true)
  } else if (outcome.kind === 'refused' && outcome.status === 404) believed.set(name, false)
  else if (outcome.kind === 'refused' && outcome.status === 409)
    believed.set(kind === 'rename' ? intent.newName : name, true)
}

async function outcomeOf(answered: Promise<Answer | Error>): Promise<Outcome> {
  const answer = await answered
  if (answer instanceof Error) {
    const { code, message } = answer as NodeJS.ErrnoException
    return code === 'ECONNREFUSED' ? { kind: 'refused', status: 0 } : { kind: 'unknown', reason: message }
  }
  const { status } = answer
  if (status === 209) return { kind: 'ok' }
  if (status === 200) return { kind: 'ok', id: recordsIn(answer)[0]?.id }
  if (status === 503 && answer.text.includes('outcome_unknown'))
    return { kind: 'unknown', reason: 'outcome_unknown' }
  return { kind: 'refused', status }
}

function send(intent: Intent, ask: Ask): Promise<Answer> {
  const { kind, name } = intent
  if (kind === 'remove') return ask('DELETE', pathOf(name))
  const hostname = intent.mark
  if (kind === 'add')
    return ask('POST', '/configurations/', { body: { name, hostname, port: 22, username: 'ops' } })
  const body = kind === 'rename' ? { name: intent.newName, hostname } : { hostname }
  return ask('PATCH', pathOf(name), { body })
}

/** Errors of the connection are outcomes here, and so is silence. */
async function inTime(answer: Promise<Answer>, answerMs: number): Promise<Answer | Error> {
  const { promise, resolve } = Promise.withResolvers<Error>()
  const timer = setTimeout(() => resolve(new Error('no answer in time')), answerMs)
  const known = answer.catch((error: NodeJS.ErrnoException) => {
    // Others are failed checks of answers.
    if (error.code === 'ERR_ASSERTION') throw error
    return error
  })
  return Promise.race([known, promise]).finally(() => clearTimeout(timer))
}

function isFailure(status: number): boolean {
  return status === 0 || status >= 500
}

function pickAt<T>(items: readonly T[], place: number): T {
  const item = items[place % items.length]
  if (item === undefined) throw new RangeError('nothing to pick from')
  return item
}
