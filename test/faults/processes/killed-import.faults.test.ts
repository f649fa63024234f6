import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { getToken } from '../../support/api.ts'
import { startExecutable } from '../../support/executable.ts'
import { createClient } from '../../support/http-client.ts'
import { createRandom } from '../../support/random.ts'
import { client, usedFolder } from '../../support/service.ts'

const RECORDS = 10_000

/** All of `port`, so that each import modifies every record of the one before. */
function fileOf(port: number): string {
  const rows = Array.from({ length: RECORDS }, (_, i) => `n${i},h${i}.example,${port},ops\n`)
  return `name,hostname,port,username\n${rows.join('')}`
}

describe('an import interrupted by kill -9', { timeout: 300_000 }, () => {
  it('is stored whole or not at all, and is stored if it was answered', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const folder = await usedFolder(t)
    const rounds = 60
    let [last, found] = [0, 0]
    let tookMs = 400
    for (let port = 1; port <= rounds + 1; port += 1) {
      const server = await startExecutable(t, ['--data', folder])
      const ask = createClient(server.url, await getToken(server.url, client))
      const { text } = await ask('GET', '/configurations/')
      const ports = new Set(
        (JSON.parse(text).configurations as { port: number }[]).map((record) => record.port),
      )
      assert.ok(ports.size <= 1, `records of ${[...ports]} beside each other`)
      const [shown = 0] = ports
      assert.ok(shown === last || shown === port - 1, `${shown} is there, but ${last} was answered`)
      if (port > 1 && shown === port - 1) found += 1
      last = shown
      if (port > rounds) break
      const begun = performance.now()
      const answered = ask('POST', '/v1/import?format=csv', { body: fileOf(port) }).then(
        ({ status }) => {
          assert.equal(status, 200)
          last = port
          tookMs = performance.now() - begun
        },
        // The server was killed before it answered.
        () => {},
      )
      // The pause is not to wait for the answer, but to interrupt the import at a random moment.
      await Promise.race([answered, pause(random.integer(0, Math.ceil(1.5 * tookMs)))])
      await server.stop('SIGKILL')
      await answered
    }
    t.diagnostic(`${found} of ${rounds} were there afterwards`)
  })
})
