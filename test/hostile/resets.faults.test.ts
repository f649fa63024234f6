import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { getToken, logIn } from '../support/api.ts'
import { startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { admin, client, usedFolder } from '../support/service.ts'
import { makeCorpus } from './corpus.ts'

const AT_ONCE = 64
/** Incomplete rows are never answered. */
const ANSWER_MS = 250

describe('a connection reset by the client', async () => {
  const folder = await usedFolder({ after })
  const server = await startExecutable({ after }, ['--data', folder])
  const { url } = server
  const { Authorization: bearer } = await getToken(url, client)
  const { Cookie: cookie } = await logIn(url, admin)
  const ask = createClient(url, { Authorization: bearer })
  const groups = makeCorpus({
    bearer,
    cookie,
    endedBearer: bearer,
    endedCookie: cookie,
    user: admin,
    client,
    etag: '"x"',
  })
  const rows = groups.flatMap((group) => group.rows)

  /** @param isAnswered Whether to wait for the beginning of the answer. */
  async function sendAndReset(bytes: string, isAnswered: boolean) {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => {})
    await once(socket, 'connect')
    await new Promise((written) => socket.write(bytes, 'latin1', written))
    const closed = once(socket, 'close')
    if (isAnswered) await Promise.race([once(socket, 'data'), closed, pause(ANSWER_MS)])
    socket.resetAndDestroy()
    await closed
  }

  for (const [when, isAnswered] of [
    ['at once', false],
    ['during its answer', true],
  ] as const) {
    it(`${when} does not affect other clients, whatever was sent on it`, async () => {
      const waiting = [...rows]
      const work = async () => {
        for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
          // A row without an answer cannot be reset during its answer.
          if (!isAnswered || row.allowed.length > 0) await sendAndReset(row.bytes, isAnswered)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      assert.equal((await ask('GET', '/readyz')).status, 200)
      assert.equal(server.process.exitCode, null)
    })
  }
})
