import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { readConsole } from '../../src/resources/console-files.ts'
import { startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { usedFolder } from '../support/service.ts'

describe('the console of the executable', async () => {
  const { url } = await startExecutable({ after }, ['--data', await usedFolder({ after })])
  const ask = createClient(url)

  it('has the bytes that its source gives, plain and as gzip', async () => {
    for (const { name, type, bytes, gzip, etag, gzipEtag } of await readConsole()) {
      for (const [accepted, form, tag] of [
        ['identity', bytes, etag],
        ['gzip', gzip, gzipEtag],
      ] as const) {
        const headers = { 'Accept-Encoding': accepted }
        const answer = await ask('GET', `/console/${name}`, { headers })
        assert.deepEqual(
          [answer.status, answer.headers['content-type'], answer.headers.etag],
          [200, type, tag],
          name,
        )
        assert.equal(answer.headers['content-length'], String(form.length))
        const read = await fetch(`${url}/console/${name}`, { headers })
        assert.deepEqual(new Uint8Array(await read.arrayBuffer()), new Uint8Array(bytes))
      }
    }
  })

  it('is where browsers are led from the root', async () => {
    const { status, headers } = await ask('GET', '/', { headers: { Accept: 'text/html' } })
    assert.deepEqual([status, headers.location], [303, '/console/'])
  })
})
