import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { importLimitsFor } from '../../../src/resources/import-limits.ts'
import { eventually } from '../../support/eventually.ts'
import { startExecutable } from '../../support/executable.ts'
import { makeMemoryGroup, noMemoryGroups } from '../../support/memory-group.ts'
import { startAttacked } from './attacked-server.ts'

const MEBIBYTE = 1024 * 1024
const RECORDS_MAX = 1_000_000

describe('one who adds records without end', { skip: noMemoryGroups }, () => {
  for (const mebibytes of [128, 256])
    it(`ends no server with ${mebibytes} MiB, and keeps none from starting again`, async (t) => {
      const group = makeMemoryGroup(t, mebibytes)
      const server = await startAttacked(t, { records: 1, through: group.through })
      const call = (path: string, method = 'GET', body?: string) =>
        fetch(server.url + path, {
          method,
          headers: { Authorization: server.bearer },
          ...(body === undefined ? {} : { body }),
        })

      // Smaller and smaller imports, as the server allows them, and then single records.
      let added = 0
      let refusal = ''
      let rows = importLimitsFor(1_000, mebibytes * MEBIBYTE).rowsMax
      while (rows > 0 && added < RECORDS_MAX) {
        const lines = Array.from({ length: rows }, (_, i) => `r${added + i},h${i}.example,22,ops\n`)
        const answer = await call(
          '/v1/import?format=csv',
          'POST',
          `name,hostname,port,username\n${lines.join('')}`,
        )
        const text = await answer.text()
        if (answer.status === 200) added += rows
        else {
          refusal = text
          assert.ok([400, 413, 507].includes(answer.status), text)
          rows = answer.status === 507 ? 0 : Math.floor(rows / 2)
        }
      }
      assert.match(refusal, /"type":"urn:connbook:problem:memory_full"/)
      const one = JSON.stringify({ name: 'one', hostname: 'h', port: 1, username: 'u' })
      const refused = await call('/configurations/', 'POST', one)
      assert.equal(refused.status, 507, await refused.text())
      // Now everything that is cached of a record, of each.
      for (let page = 0; page * 100 < added; page += 1)
        await (await call(`/configurations/?page=${page}&per_page=100`)).arrayBuffer()
      for (let id = 0; id < added; id += 100) assert.equal((await call(`/configurations/r${id}`)).status, 200)
      t.diagnostic(`${added} records, ${group.usedMebibytes().toFixed()} of ${mebibytes} MiB in use`)

      await server.stop()
      const again = await startExecutable(t, ['--data', server.folder], { through: group.through })
      await eventually(
        'the records are read',
        async () => (await fetch(`${again.url}/readyz`)).status === 200,
      )
      t.diagnostic(`started again: ${group.usedMebibytes().toFixed()} MiB in use`)
    })
})
