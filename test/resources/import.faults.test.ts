import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { IMPORT_BYTES_MAX } from '../../src/limits.ts'
import { importLimitsFor } from '../../src/resources/import.ts'
import { getToken } from '../support/api.ts'
import { createClient, recordsIn } from '../support/http-client.ts'
import { client, start } from '../support/service.ts'

it('an import refuses a body that is declared too long, and cuts off one that becomes too long', async (t) => {
  // The limit where there is much memory, whatever this machine has.
  t.mock.method(process, 'constrainedMemory', () => 8 * 1024 ** 3)
  assert.equal(importLimitsFor(0).bytesMax, IMPORT_BYTES_MAX)
  const { url } = await start(t)
  const ask = createClient(url, await getToken(url, client))
  const type = { 'Content-Type': 'text/csv' }
  const said = await ask('POST', '/v1/import', {
    body: Buffer.from('x'),
    headers: { ...type, 'Content-Length': String(IMPORT_BYTES_MAX + 1) },
  })
  assert.equal(said.status, 413)
  const body = Buffer.alloc(IMPORT_BYTES_MAX + 70_000, '\n')
  const found = await ask('POST', '/v1/import', {
    body,
    headers: { ...type, 'Transfer-Encoding': 'chunked' },
  })
  assert.equal(found.status, 413)
  assert.deepEqual(recordsIn(await ask('GET', '/configurations/')), [])
})
