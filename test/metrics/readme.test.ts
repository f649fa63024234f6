import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'

describe('the README', () => {
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

    const readme = await readFile(join(import.meta.dirname, '../../README.md'), 'utf8')
    const section = readme.split('\n## Watch it\n')[1]?.split('\n## ')[0] ?? assert.fail('no section')
    const rows = section.matchAll(/^\| (`.+`) \| (\w+) \| .+ \|$/gm)
    const published = Array.from(rows, ([, names = '', type]) =>
      Array.from(names.matchAll(/`([^`]+)`/g), ([, name]) => `${name} ${type}`),
    ).flat()
    assert.ok(published.length > 20)
    assert.deepEqual(published.toSorted(), shown.toSorted())
  })
})
