import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readChapterNamed } from '../manual/published.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'

describe('the chapter "metrics"', () => {
  it('lists every metric with its type and labels, and no other', async (t) => {
    const { url } = await start(t, { flags: ['--metrics-public'] })
    const ask = createClient(url)
    // So that at least one request has been counted.
    await ask('GET', '/healthz')
    const { text } = await ask('GET', '/metrics')
    const shown = Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = '', type]) => {
      const labels = new RegExp(`^${name}(?:_bucket)?\\{(.*)\\}`, 'm').exec(text)?.[1] ?? ''
      const names = Array.from(labels.matchAll(/(\w+)="/g), (match) => match[1]).filter(
        (label) => label !== 'le',
      )
      return `${name}${names.length > 0 ? `{${names.join()}}` : ''} ${type}`
    })

    const rows = readChapterNamed('metrics').matchAll(/^\| `([a-z_]+(?:\{[a-z_,]+\})?)` \| (\w+) \| .+ \|$/gm)
    const published = Array.from(rows, ([, name, type]) => `${name} ${type}`)
    assert.ok(published.length > 20)
    assert.deepEqual(published.toSorted(), shown.toSorted())
  })
})
