import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '../../support/http-client.ts'
import { formatRequest } from '../../support/raw-http.ts'
import type { Tally, Target } from './attacks.ts'

// All ways to wait for changes, as often as one account may and beyond, while one of its clients makes changes.

const LIST = '/configurations/'
const REOPEN_PAUSE_MS = 20
/** Long enough for a stream to begin. */
const ABANDONED_AFTER_MS = 5

export const waitingAttacks = {
  /** Filters that keep nothing, each another one. */
  filteredStreams: (target: Target, tally: Tally) =>
    follow(target, tally, (i) => `/v1/events?hostname=none-${i}.example`),

  /** Streams of everything, from as far back as may be, of which nothing is read. */
  unreadStreams: (target: Target, tally: Tally) =>
    follow(
      target,
      tally,
      () => '/v1/events',
      (socket) => socket.pause(),
    ),

  /** Streams that end as soon as they have begun. */
  abandonedStreams: (target: Target, tally: Tally) =>
    follow(
      target,
      tally,
      () => '/v1/events',
      (socket) => setTimeout(() => socket.destroy(), ABANDONED_AFTER_MS),
    ),

  /** Waiting reads of the list, with filters that keep nothing, each another one. */
  filteredPolls: (target: Target, tally: Tally) => poll(target, tally, (i) => `${LIST}?q=none-${i}`),

  /** Waiting reads of the record that changes. */
  recordPolls: (target: Target, tally: Tally) => poll(target, tally, () => '/configurations/record-2'),
}

/** Opens a stream on each connection, and another one whenever it ends. */
async function follow(
  target: Target,
  tally: Tally,
  path: (i: number) => string,
  treat: (socket: Socket) => void = () => {},
): Promise<void> {
  const { host, port, bearer, connections } = target
  const begun = Array.from({ length: connections }, (_, i) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    void repeat(async () => {
      const socket = connect({ host, port })
      socket.on('error', () => {})
      socket.once('data', (bytes) => {
        count(tally, bytes.toString('latin1', 9, 12))
        resolve()
        treat(socket)
      })
      socket.resume()
      socket.write(formatRequest(`GET ${path(i)}`, { Authorization: bearer }))
      await new Promise((closed) => socket.once('close', closed))
      await pause(REOPEN_PAUSE_MS)
    })
    return promise
  })
  await Promise.all(begun)
  change(target, tally)
}

/** Waits on each connection, again and again. */
async function poll(target: Target, tally: Tally, path: (i: number) => string): Promise<void> {
  const ask = createClient(`http://${target.host}:${target.port}`, { Authorization: target.bearer })
  for (let i = 0; i < target.connections; i += 1) {
    let tag = String((await ask('HEAD', path(i))).headers.etag)
    void repeat(async () => {
      const headers = { 'If-None-Match': tag, Prefer: 'wait=2' }
      const answer = await ask('GET', path(i), { headers }).catch(() => undefined)
      count(tally, String(answer?.status ?? 'failed'))
      tag = String(answer?.headers.etag ?? tag)
      if (answer === undefined || answer.status === 503) await pause(REOPEN_PAUSE_MS)
    })
  }
  change(target, tally)
}

/** Changes a record, again and again. */
function change({ host, port, bearer }: Target, tally: Tally) {
  const ask = createClient(`http://${host}:${port}`, { Authorization: bearer })
  let turn = 0
  void repeat(async () => {
    const body = { port: (turn++ % 1_000) + 1 }
    const answer = await ask('PATCH', '/configurations/record-2', { body }).catch(() => undefined)
    count(tally, `change ${answer?.status ?? 'failed'}`)
  })
}

async function repeat(work: () => Promise<void>): Promise<never> {
  for (;;) await work()
}

function count(tally: Tally, what: string) {
  tally[what] = (tally[what] ?? 0) + 1
}
