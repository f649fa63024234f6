import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LABELS_MAX } from '../../../src/limits.ts'
import { quantile } from '../../bench/statistics.ts'
import { logIn } from '../../support/api.ts'
import { createClient } from '../../support/http-client.ts'
import { admin } from '../../support/service.ts'
import { measure, P99_MS_MAX, REQUESTS, startAttacked } from './attacked-server.ts'
import { OtherCaller } from './other-caller.ts'

const IMPORTS = 20
const HEADER = 'name,hostname,port,username'

/** A file with so many columns beside the fields, all of which have a value. */
function fileOf(columns: number, rows: number): string {
  const names = Array.from({ length: columns }, (_, i) => `c${i}`)
  const values = names.map(() => 'x').join(',')
  const row = (i: number) => `n${i},host.example,22,ops,${values}`
  return [`${HEADER},${names.join(',')}`, ...Array.from({ length: rows }, (_, i) => row(i))].join('\n')
}

const files = {
  'more columns that become labels than a record can have': fileOf(2_500, 4_000),
  'many labels, only to be tried': fileOf(LABELS_MAX, 20_000),
}

for (const [what, body] of Object.entries(files))
  describe(`while one imports files with ${what}, again and again`, () => {
    it('another one imports a record at once, and reads without delay', async (t) => {
      const server = await startAttacked(t, { records: 1_000 })
      const caller = await OtherCaller.logIn(server.url, 'record-1')
      t.after(() => caller.close())
      const ask = createClient(server.url, await logIn(server.url, admin))
      const path = '/v1/import?dry_run=1&format=csv&extra=labels'
      const running = await server.attack('questions', 1, [{ path, body }])

      const times: number[] = []
      for (let i = 0; i < IMPORTS; i += 1) {
        const begin = performance.now()
        const row = `${HEADER}\nother,host.example,${i + 1},ops\n`
        const { status } = await ask('POST', '/v1/import?format=csv', { body: row })
        times.push(performance.now() - begin)
        assert.equal(status, 200)
      }
      const { failures, servedP99 } = await measure(t, caller, REQUESTS, P99_MS_MAX)
      const tally = await running.stop()
      const [p50, max] = [quantile(times, 0.5), quantile(times, 1)]
      t.diagnostic(`imports of one record: p50 ${p50.toFixed(1)}, max ${max.toFixed(1)} ms`)
      t.diagnostic(`the attack: ${JSON.stringify(tally)}; ${server.memory().toFixed()} MiB`)

      assert.deepEqual(failures, [])
      assert.ok(servedP99 < P99_MS_MAX, `p99 is ${servedP99} ms`)
      assert.ok(p50 < P99_MS_MAX, `an import takes ${p50} ms`)
    })
  })
