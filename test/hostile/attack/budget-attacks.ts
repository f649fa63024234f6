import { Agent } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '../../support/http-client.ts'
import { formatRequest } from '../../support/raw-http.ts'
import type { Tally, Target } from './attacks.ts'

// Cheap operations, repeated by one caller without end.

/** A read-only client, which the test adds. */
export const reader = { client_id: 'reader', client_secret: 'a secret of the read-only client' }

/** A client with the scope `write` whose grants let it see and change nothing, which the test adds. */
export const powerless = { client_id: 'powerless', client_secret: 'a secret of the client without rights' }
export const powerlessGrants = ['read?prefix=nothing/']

/** As long as a query may be: 32 labels of 3 bytes a character, each of them percent-encoded. */
const LONG_FILTER = Array.from(
  { length: 32 },
  (_, i) => `label=${encodeURIComponent(`k${i}=${'€'.repeat(38)}`)}`,
).join('&')

const REOPEN_PAUSE_MS = 20
const DRIBBLE_MS = 250
const IMPORT_BYTES = 1_000_000

export const budgetAttacks = {
  /** Logins under names that nobody has used before. */
  strangers: (target: Target, tally: Tally) => {
    let turn = 0
    return onEach(target, async (ask) => {
      const body = { username: `stranger-${turn++}`, password: 'x' }
      count(tally, String((await ask('POST', '/login', { body })).status))
    })
  },

  /** Gets a token, and ends it. */
  tokenLoop: (target: Target, tally: Tally) =>
    onEach(target, async (ask) => {
      const issued = await ask('POST', '/v1/auth/token', { body: reader })
      count(tally, `token ${issued.status}`)
      if (issued.status !== 200) return
      const headers = { Authorization: `Bearer ${issued.json<{ access_token: string }>().access_token}` }
      count(tally, `logout ${(await ask('POST', '/logout', { headers })).status}`)
    }),

  /** Changes of nothing, by a client that may change nothing, with filters as long as they may be. */
  changesOfNothing: async (target: Target, tally: Tally) => {
    const ask = createClient(`http://${target.host}:${target.port}`)
    const issued = await ask('POST', '/v1/auth/token', { body: powerless })
    const headers = { Authorization: `Bearer ${issued.json<{ access_token: string }>().access_token}` }
    const path = `/configurations/?${LONG_FILTER}`
    await onEach(target, async (ask) => {
      count(tally, `PATCH ${(await ask('PATCH', path, { headers, body: { port: 1 } })).status}`)
      count(tally, `DELETE ${(await ask('DELETE', path, { headers })).status}`)
      count(tally, `import ${(await ask('POST', '/v1/import', { headers, body: [] })).status}`)
    })
  },

  /** An import that comes byte by byte, again and again. */
  trickledImports: async ({ host, port, bearer }: Target, tally: Tally) => {
    const first = Promise.withResolvers<void>()
    void (async () => {
      for (;;) {
        const socket = connect({ host, port })
        socket.on('error', () => {})
        const headers = { Authorization: bearer, 'Content-Length': String(IMPORT_BYTES) }
        socket.write(formatRequest('POST /v1/import?format=csv', headers))
        const dribble = setInterval(() => socket.write('n'), DRIBBLE_MS)
        socket.on('data', (bytes) => {
          count(tally, bytes.toString().slice(9, 12))
          socket.destroy()
        })
        socket.once('connect', () => {
          count(tally, 'opened')
          first.resolve()
        })
        await new Promise((closed) => socket.once('close', closed))
        clearInterval(dribble)
        await pause(REOPEN_PAUSE_MS)
      }
    })()
    await first.promise
    // The server reads the head a moment later.
    await pause(DRIBBLE_MS)
  },
}

/** Repeats the work on each connection; resolves once each has done it, or has begun long ago. */
async function onEach(
  { host, port, connections }: Target,
  work: (ask: ReturnType<typeof createClient>) => Promise<void>,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const ask = createClient(`http://${host}:${port}`, {}, { agent })
  const first = Array.from({ length: connections }, () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    void (async () => {
      for (;;) {
        await work(ask).catch(() => {})
        resolve()
      }
    })()
    return promise
  })
  await Promise.race([Promise.all(first), pause(500)])
}

function count(tally: Tally, what: string) {
  tally[what] = (tally[what] ?? 0) + 1
}
