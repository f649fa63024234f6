import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'
import type { Random } from '../../support/random.ts'
import type { Lifetime } from '../../support/temporary-folder.ts'

/** How late a late request is at most; a node repeats a change at once. */
const LATE_MS_MAX = 300

/** Which requests lose their connection, and when. */
export interface Loss {
  /** Path of the requests concerned; by default that of transactions. */
  readonly path?: string
  /** How many of those requests, from 0 to 1. */
  readonly share: number
  readonly random: Random
  /**
   * Before etcd gets the request, after it has answered, or in the middle of the answer; late: at once, and etcd gets the
   * request some time later, perhaps after the next attempt. By default after.
   */
  readonly when?: 'before' | 'after' | 'within' | 'late'
  /** When etcd gets a late request, instead of a random time. */
  readonly until?: Promise<void>
  /** Told of each loss, with the body of the request. */
  readonly onLoss?: (body: string) => void
}

/** Stands in front of a member, and does to the connections what networks do. What is set concerns what comes later. */
export interface EtcdProxy {
  /** For clients, instead of that of the member. */
  readonly url: string
  /** How many requests it got, lost ones and silent ones included; of one path if given. */
  count(path?: string): number
  /** Undefined: nothing is lost any more. */
  lose(loss: Loss | undefined): void
  /** Passes on other bodies than those of the requests; undefined: their own. */
  rewrite(change: ((path: string, body: string) => string) | undefined): void
  /** Resolves when etcd has got and answered all that comes late. */
  drained(): Promise<void>
  /** Holds requests or answers back for so long. */
  delay(delays: { readonly requestMs?: number; readonly answerMs?: number }): void
  /** Writes answers in pieces of so many bytes, each a packet. */
  split(bytes: number | undefined): void
  /** Accepts connections and passes nothing on, either way, not even on streams that run, until `speak`. */
  hush(): void
  /** Passes on what has been held back since `hush`, and what comes. */
  speak(): void
  /** From now on, passes nothing on to watches that run, which stay open; calls and new watches are answered. */
  hushWatches(): void
  /** Puts a line into the answers of all watches that run. */
  sayToWatches(line: string): void
  /** Breaks all connections; the next ones are good. */
  breakAll(): void
  /** Breaks all connections and refuses new ones, until `accept`. */
  refuse(): Promise<void>
  accept(): Promise<void>
}

/** Starts a proxy before a member without TLS; it ends with the test or the suite. */
export async function startEtcdProxy(t: Lifetime, target: string): Promise<EtcdProxy> {
  const port = await freePort()
  const agent = new Agent({ keepAlive: true })
  const ended = new AbortController()
  const counts = new Map<string, number>()
  const late = new Set<Promise<void>>()
  let loss: Loss | undefined
  let rewrite = (_: string, body: string) => body
  let [requestMs, answerMs] = [0, 0]
  let pieceBytes: number | undefined
  /** The answers of watches that run, and whether anything is passed on to them. */
  const watches = new Map<ServerResponse, boolean>()
  let silence = Promise.withResolvers<void>()
  silence.resolve()

  const server = createServer((incoming, response) => {
    const path = incoming.url ?? ''
    counts.set(path, (counts.get(path) ?? 0) + 1)
    // Either side may break off at any time; the other one then hears of it.
    handle(path, incoming, response).catch(() => incoming.socket.destroy())
  })
  server.on('connection', (socket) => socket.setNoDelay())
  const accept = async () => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const refuse = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  t.after(async () => {
    ended.abort()
    silence.resolve()
    await refuse()
    agent.destroy()
  })
  await accept()

  async function handle(path: string, incoming: IncomingMessage, response: ServerResponse) {
    const body = rewrite(path, Buffer.concat(await incoming.toArray()).toString())
    incoming.headers['content-length'] = String(Buffer.byteLength(body))
    const lost = loss !== undefined && path === (loss.path ?? '/v3/kv/txn') && isLost(loss) ? loss : undefined
    if (lost !== undefined) lost.onLoss?.(body)
    if (lost?.when === 'before' || lost?.when === 'late') incoming.socket.destroy()
    if (lost?.when === 'before') return
    if (lost?.when === 'late') {
      const passing = passLate(path, incoming, body, lost)
      late.add(passing)
      return passing.finally(() => late.delete(passing))
    }
    await silence.promise
    if (requestMs > 0) await pause(requestMs, undefined, { signal: ended.signal })
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const passed = request(target + path, {
      method: incoming.method ?? 'GET',
      headers: incoming.headers,
      agent,
      signal: AbortSignal.any([gone.signal, ended.signal]),
    })
    passed.end(body)
    const [answer] = (await once(passed, 'response')) as [IncomingMessage]
    if (answerMs > 0) await pause(answerMs, undefined, { signal: ended.signal })
    await silence.promise
    if (lost === undefined) await passAnswer(answer, response)
    else await cutAnswer(answer, response, lost)
  }

  async function passLate(path: string, { method, headers }: IncomingMessage, body: string, lost: Loss) {
    await (lost.until ?? pause(lost.random.integer(1, LATE_MS_MAX), undefined, { signal: ended.signal }))
    const passed = request(target + path, { method: method ?? 'POST', headers, agent, signal: ended.signal })
    passed.end(body)
    const [answer] = (await once(passed, 'response')) as [IncomingMessage]
    await answer.toArray()
  }

  async function passAnswer(answer: IncomingMessage, response: ServerResponse) {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    response.flushHeaders()
    if (response.req.url === '/v3/watch') {
      watches.set(response, true)
      response.once('close', () => watches.delete(response))
    }
    for await (const chunk of answer) {
      await silence.promise
      if (watches.get(response) === false) continue
      for (const piece of piecesOf(chunk as Buffer, pieceBytes))
        await new Promise<void>((resolve, reject) => {
          response.write(piece, (error) => (error ? reject(error) : resolve()))
        })
    }
    response.end()
  }

  return {
    url: `http://127.0.0.1:${port}`,
    count: (path) =>
      path === undefined
        ? [...counts.values()].reduce((sum, each) => sum + each, 0)
        : (counts.get(path) ?? 0),
    lose(next) {
      loss = next
    },
    rewrite(change = (_, body) => body) {
      rewrite = change
    },
    drained: async () => void (await Promise.allSettled(late)),
    delay(delays) {
      ;[requestMs, answerMs] = [delays.requestMs ?? 0, delays.answerMs ?? 0]
    },
    split(bytes) {
      pieceBytes = bytes
    },
    hush() {
      silence = Promise.withResolvers()
    },
    speak: () => silence.resolve(),
    hushWatches() {
      for (const response of watches.keys()) watches.set(response, false)
    },
    sayToWatches(line) {
      for (const response of watches.keys()) response.write(`${line}\n`)
    },
    breakAll: () => server.closeAllConnections(),
    refuse,
    accept,
  }
}

function isLost({ share, random }: Loss): boolean {
  return random.integer(1, 1_000_000) <= share * 1_000_000
}

/** Waits for the whole answer, so that etcd has done what it was asked, and passes on at most half of it. */
async function cutAnswer(answer: IncomingMessage, response: ServerResponse, { when }: Loss) {
  const whole = Buffer.concat(await answer.toArray())
  if (when === 'within') {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    await new Promise<void>((resolve) => {
      response.write(whole.subarray(0, whole.length / 2), () => resolve())
    })
  }
  response.destroy()
}

function piecesOf(chunk: Buffer, bytes: number | undefined): Buffer[] {
  if (bytes === undefined) return [chunk]
  return Array.from({ length: Math.ceil(chunk.length / bytes) }, (_, i) =>
    chunk.subarray(i * bytes, (i + 1) * bytes),
  )
}
