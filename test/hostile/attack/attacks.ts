import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { BODY_BYTES_MAX } from '../../../src/limits.ts'
import { formatRequest } from '../../support/raw-http.ts'
import { admin, client } from '../../support/service.ts'
import { budgetAttacks } from './budget-attacks.ts'
import { replaceAll, useAllOrders } from './large-changes.ts'
import { waitingAttacks } from './waiting-attacks.ts'

export interface Target {
  readonly host: string
  readonly port: number
  /** The `Authorization` header of a valid account. */
  readonly bearer: string
  /** How many connections the attack uses at once. */
  readonly connections: number
  /** How many records the server has at the start. */
  readonly records: number
  /** What `questions` asks, in turn. */
  readonly questions?: readonly Question[]
}

/** A request of an attack. */
export interface Question {
  readonly path: string
  /** For `questions`, the token of the target without it. */
  readonly headers?: Record<string, string>
  /** Without it, a POST if there is a body, and a GET if there is none. */
  readonly method?: string
  readonly body?: string
}

/** How often each thing happened, so that a test can check that the attack took place. */
export type Tally = Record<string, number>

/** Begins an attack that goes on until the process ends; resolves once it is at full strength. */
type Attack = (target: Target, tally: Tally) => Promise<void>

const REOPEN_PAUSE_MS = 20
/** Each connection costs 20 ms of parsing: without a pause the server would do nothing else. */
const TINY_CHUNKS_PAUSE_MS = 30_000
/** New connections: some thousands a second, which leaves a busy machine time for other clients. */
const OPENED_AT_ONCE = 4
const DRIBBLE_MS = 250
/** Long enough for a request to be read, and too short for a long answer. */
const ABANDONED_AFTER_MS = 2
/** About 10 MB. */
const IMPORTED_ROWS = 100_000
const ABANDONED_PAUSE_MS = 2_000
const PIPELINED_LISTS = 20
const PIPELINED_REQUESTS = 10_000
const SHORTEST_REQUEST = 'GET / HTTP/1.1\r\nHost:a\r\n\r\n'
const CHUNK = `4000\r\n${' '.repeat(0x4000)}\r\n`

/** A body of full length around a record whose name is taken: as costly to parse as any, and stores nothing. */
const takenName = JSON.stringify({ name: 'record-1', hostname: 'h', port: 1, username: 'u' })
const validBody = takenName.padEnd(BODY_BYTES_MAX)
const oversizedBody = takenName.padEnd(2 * BODY_BYTES_MAX)
/** Every member is invalid and adds a line to the answer. */
const wrongBody = JSON.stringify(Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`x${i}`, i])))

const searches = [
  'q=no+such+text',
  'q=HOST',
  'q=9&sort=-hostname',
  'port=22&username=nobody',
  `q=${encodeURIComponent('İ'.repeat(255))}&sort=name`,
]

const kinds = {
  ...budgetAttacks,
  ...waitingAttacks,

  idle: (target, tally) => hold(target, tally, () => {}),

  slowHeaders: (target, tally) =>
    hold(target, tally, (socket) => dribble(socket, 'GET /healthz HTTP/1.1\r\nHost: a\r\n', 'x')),

  slowBodies: (target, tally) =>
    hold(target, tally, (socket) =>
      dribble(socket, formatRequest('POST /login', { 'Content-Length': '60000' }), 'x'),
    ),

  neverReading: (target, tally) =>
    hold(target, tally, (socket) => {
      socket.pause()
      const lists = formatRequest('GET /configurations/', { Authorization: target.bearer })
      socket.write(lists.repeat(PIPELINED_LISTS))
    }),

  /** One request on each connection; none of them reads its answer. */
  takingNothing: (target, tally) =>
    hold(target, tally, (socket) => {
      socket.pause()
      socket.write(formatRequest('GET /configurations/', { Authorization: target.bearer }))
    }),

  pipelines: (target, tally) =>
    hold(target, tally, (socket) => {
      socket.pause()
      socket.write(SHORTEST_REQUEST.repeat(PIPELINED_REQUESTS))
    }),

  tinyChunks: (target, tally) =>
    hold(
      target,
      tally,
      (socket) => {
        socket.write(formatRequest('POST /login', { 'Transfer-Encoding': 'chunked' }))
        socket.write('1\r\n \r\n'.repeat(BODY_BYTES_MAX - 1))
      },
      TINY_CHUNKS_PAUSE_MS,
    ),

  endlessBodies: (target, tally) =>
    hold(target, tally, (socket) => {
      socket.write(
        formatRequest('POST /configurations/', {
          Authorization: target.bearer,
          'Transfer-Encoding': 'chunked',
        }),
      )
      const more = () => {
        while (socket.writable && socket.write(CHUNK));
      }
      socket.on('drain', more)
      more()
    }),

  /** More connections than the server takes: each one over the limit closes another. */
  connections: async (target, tally) => {
    const full = Promise.withResolvers<void>()
    let alive = 0
    void repeat(async () => {
      for (let i = 0; i < OPENED_AT_ONCE && alive < target.connections; i += 1) {
        alive += 1
        open(target, tally).once('close', () => (alive -= 1))
      }
      await pause(1)
      if ((tally.opened ?? 0) >= target.connections) full.resolve()
    })
    await full.promise
  },

  logins: (target, tally) =>
    ask(target, tally, (turn) => ({
      path: '/login',
      body: JSON.stringify(
        [
          { username: `stranger-${turn}`, password: 'x' },
          { username: admin.username, password: `guess ${turn}` },
          admin,
        ][turn % 3],
      ),
    })),

  tokens: (target, tally) =>
    ask(target, tally, (turn) => ({
      path: '/v1/auth/token',
      body: JSON.stringify(
        [
          { client_id: `stranger-${turn}`, client_secret: 'x' },
          { client_id: client.client_id, client_secret: `guess ${turn}` },
          client,
        ][turn % 3],
      ),
    })),

  /** Those of the target, again and again over all connections. */
  questions: (target, tally) => {
    const { questions = [], bearer } = target
    return ask(target, tally, (turn) => {
      const question = questions[turn % questions.length] ?? { path: '/' }
      return { headers: { Authorization: bearer }, ...question }
    })
  },

  lists: (target, tally) =>
    ask(target, tally, () => ({ path: '/configurations/', headers: { Authorization: target.bearer } })),

  pages: (target, tally) =>
    ask(target, tally, (turn) => ({
      path: `/configurations/?page=${turn % 10}&per_page=100`,
      headers: { Authorization: target.bearer },
    })),

  /** Long files whose last row is faulty, so that they are read whole, and nothing changes. */
  imports: (target, tally) => {
    const rows = Array.from(
      { length: IMPORTED_ROWS },
      (_, i) => `imported-${i},host-${i}.example,22,${'u'.repeat(60)}`,
    )
    const body = ['name,hostname,port,username', ...rows, 'faulty,,,'].join('\n')
    const headers = { Authorization: target.bearer, 'Content-Type': 'text/csv' }
    return ask(target, tally, () => ({ path: '/v1/import', headers, body }))
  },

  abandonedExports: (target, tally) =>
    hold(
      target,
      tally,
      (socket) => {
        socket.write(formatRequest('GET /v1/export?format=ansible', { Authorization: target.bearer }))
        setTimeout(() => socket.destroy(), ABANDONED_AFTER_MS)
      },
      ABANDONED_PAUSE_MS,
    ),

  /** Texts that no record has, and that many have; some in another order than that of ids. */
  searches: (target, tally) =>
    ask(target, tally, (turn) => ({
      path: `/configurations/?${searches[turn % searches.length]}`,
      headers: { Authorization: target.bearer },
    })),

  abandonedSearches: (target, tally) =>
    hold(target, tally, (socket) => {
      socket.write(formatRequest(`GET /configurations/?${searches[0]}`, { Authorization: target.bearer }))
      setTimeout(() => socket.destroy(), ABANDONED_AFTER_MS)
    }),

  bodies: (target, tally) =>
    ask(target, tally, (turn) => ({
      path: '/configurations/',
      headers: { Authorization: target.bearer },
      body: [validBody, wrongBody, oversizedBody][turn % 3] ?? '',
    })),

  replaceAll,
  useAllOrders,
} satisfies Record<string, Attack>

/** Ways to hold much, or to make work that nobody waits for. */
const mixed: readonly (keyof typeof kinds)[] = [
  'slowHeaders',
  'slowBodies',
  'endlessBodies',
  'takingNothing',
  'neverReading',
  'abandonedSearches',
  'abandonedExports',
  'unreadStreams',
  'filteredPolls',
]
/** Many more than are checked at once. */
const MIXED_LOGINS = 64

export const attacks = {
  ...kinds,

  /** Many kinds at once, each over so many connections. */
  mixed: async (target, tally) => {
    const strangers = kinds.strangers({ ...target, connections: MIXED_LOGINS }, tally)
    await Promise.all([strangers, ...mixed.map((name) => kinds[name](target, tally))])
  },
} satisfies Record<string, Attack>

export type AttackName = keyof typeof attacks

/** Runs the attack on each connection; opens a new one for each that the server closes. */
async function hold(
  target: Target,
  tally: Tally,
  begin: (socket: Socket) => void,
  reopenPauseMs = REOPEN_PAUSE_MS,
): Promise<void> {
  const opened: Promise<void>[] = []
  for (let i = 0; i < target.connections; i += 1) {
    const { promise, resolve } = Promise.withResolvers<void>()
    opened.push(promise)
    void repeat(async () => {
      const socket = open(target, tally)
      socket.once('connect', () => {
        resolve()
        begin(socket)
      })
      await new Promise((closed) => socket.once('close', closed))
      await pause(reopenPauseMs)
    })
  }
  await Promise.all(opened)
}

function open({ host, port }: Target, tally: Tally): Socket {
  const socket = connect({ host, port })
  socket.on('error', () => {})
  socket.once('connect', () => {
    count(tally, 'opened')
    count(tally, 'open')
  })
  socket.once('close', () => {
    if (socket.bytesRead > 0) count(tally, 'answered')
    count(tally, 'closed')
    count(tally, 'open', -1)
  })
  socket.resume()
  return socket
}

/** Sends the first bytes at once, then one byte every DRIBBLE_MS. */
function dribble(socket: Socket, first: string, more: string) {
  socket.write(first)
  const timer = setInterval(() => socket.write(more), DRIBBLE_MS)
  socket.once('close', () => clearInterval(timer))
}

/** Sends requests on all connections, each as soon as the last is answered. */
async function ask(target: Target, tally: Tally, question: (turn: number) => Question): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: target.connections })
  const first: Promise<void>[] = []
  let turn = 0
  for (let i = 0; i < target.connections; i += 1) {
    const { promise, resolve } = Promise.withResolvers<void>()
    first.push(promise)
    void repeat(async () => {
      count(tally, String(await send(target, agent, question(turn++)).catch(() => 'failed')))
      resolve()
    })
  }
  // Answers that need a password hash come later; it is enough that all have sent a request.
  await Promise.race([Promise.all(first), pause(500)])
}

function send({ host, port }: Target, agent: Agent, question: Question): Promise<number> {
  const { path, headers, body, method = body === undefined ? 'GET' : 'POST' } = question
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
  const outgoing = request({ host, port, agent, method, path, headers: { ...headers, ...length } })
  outgoing.on('error', reject)
  outgoing.on('response', (incoming) => {
    incoming.resume()
    incoming.once('close', () => resolve(incoming.statusCode ?? 0))
  })
  outgoing.end(body)
  return promise
}

async function repeat(work: () => Promise<void>): Promise<never> {
  for (;;) await work()
}

function count(tally: Tally, what: string, by = 1) {
  tally[what] = (tally[what] ?? 0) + by
}
