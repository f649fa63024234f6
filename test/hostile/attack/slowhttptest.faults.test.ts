import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify, stripVTControlCharacters } from 'node:util'
import { logIn } from '../../support/api.ts'
import { missing } from '../../support/debian.ts'
import { admin } from '../../support/service.ts'
import { measure, P99_MS_MAX, REQUESTS, startAttacked } from './attacked-server.ts'

const SECONDS = 5
const CONNECTIONS = 500

const common = ['-c', String(CONNECTIONS), '-r', '400', '-l', String(SECONDS), '-i', '1']

/** How slowhttptest names its attacks. */
const modes: Record<string, string[]> = {
  'slow headers (-H)': ['-H', ...common],
  'slow bodies (-B)': ['-B', ...common, '-s', '60000'],
  'ranges (-R)': ['-R', ...common],
  'slow reading (-X)': ['-X', ...common, '-k', '3', '-n', '1', '-w', '10', '-y', '20', '-z', '5'],
}

describe('slowhttptest finds the service available', { skip: missing('slowhttptest') }, () => {
  for (const [mode, args] of Object.entries(modes)) {
    it(`with ${mode}`, async (t) => {
      const server = await startAttacked(t, { records: 10_000 })
      const client = server.client('good')
      const path = mode.includes('-B') ? '/login' : '/configurations/'
      const { Cookie } = await logIn(server.url, admin)
      const attack = promisify(execFile)('slowhttptest', [...args, '-j', Cookie, '-u', server.url + path], {
        timeout: (SECONDS + 30) * 1000,
      })
      const { servedP99, failures } = await measure(t, client, REQUESTS, P99_MS_MAX)
      const { stdout } = await attack
      // It prints its state repeatedly, in colours.
      const report = stripVTControlCharacters(stdout)
      t.diagnostic(report.slice(report.lastIndexOf('slow HTTP test status')).replace(/\s+/g, ' '))

      assert.deepEqual(failures, [])
      assert.ok(servedP99 < P99_MS_MAX, `p99 is ${servedP99} ms`)
      assert.equal(client.keptConnections, 1)
      assert.match(report, /service available:\s+YES/)
      assert.doesNotMatch(report, /service available:\s+NO/)
    })
  }
})
