import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IMPORT_ROWS_MAX } from '../../../src/limits.ts'
import { fieldNames } from '../../../src/store/fields.ts'
import { eventually } from '../../support/eventually.ts'
import { startExecutable } from '../../support/executable.ts'
import { makeMemoryGroup, noMemoryGroups } from '../../support/memory-group.ts'
import { startAttacked } from './attacked-server.ts'

const RECORDS_MAX = 1_000_000
const TAGS_READ_MAX = 5_000

const plain = (i: number) => ({ name: `r${i}`, hostname: `h${i}.example`, port: 22, username: 'ops' })
/** One such character doubles the memory of a text. */
const wide = (i: number) => ({
  ...plain(i),
  name: `r${i}日${'n'.repeat(200)}`,
  username: `日${'u'.repeat(200)}`,
})

describe('one who adds records without end', { skip: noMemoryGroups }, () => {
  for (const [mebibytes, what, make] of [
    [192, 'plain records', plain],
    [192, 'records with wide characters', wide],
    [512, 'plain records', plain],
  ] as const)
    it(`ends no server with ${mebibytes} MiB, and keeps none from starting again: ${what}`, async (t) => {
      const group = makeMemoryGroup(t, mebibytes)
      const server = await startAttacked(t, { records: 1, through: group.through })
      const call = (path: string, method = 'GET', body?: string) =>
        fetch(server.url + path, {
          method,
          headers: { Authorization: server.bearer },
          ...(body === undefined ? {} : { body }),
        })
      const read = async (path: string) => {
        const answer = await call(path)
        assert.equal(answer.status, 200, await answer.text())
      }

      // Imports as large as the server takes them, until not even one record fits.
      let added = 0
      let refusal = ''
      for (let rows = IMPORT_ROWS_MAX; rows > 0 && added < RECORDS_MAX; ) {
        const lines = Array.from({ length: rows }, (_, i) => JSON.stringify(make(added + i)))
        const answer = await call('/v1/import?format=jsonl', 'POST', `${lines.join('\n')}\n`)
        refusal = await answer.text()
        if (answer.status === 200) added += rows
        else {
          assert.ok([400, 413, 507].includes(answer.status), refusal)
          rows = Math.floor(rows / 2)
        }
      }
      assert.match(refusal, /"type":"urn:connbook:problem:memory_full"/)

      // Then everything that is cached of a record: its JSON, its tag, its place in each order.
      for (const sort of fieldNames)
        for (const way of ['', '-']) await read(`/configurations/?sort=${way}${sort}&page=0&per_page=1`)
      for (let page = 0; page * 100 < added; page += 1)
        await read(`/configurations/?page=${page}&per_page=100`)
      // One by one takes long: the tags of some.
      for (let i = 0; i < Math.min(added, TAGS_READ_MAX); i += 1)
        await read(`/configurations/${encodeURIComponent(make(i).name)}`)
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
