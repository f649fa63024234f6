import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { EventSource } from 'eventsource'
import { readBlock } from '../manual/published.ts'
import { missing } from '../support/debian.ts'
import { eventsIn } from '../support/event-reader.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'

describe('tools that follow changes', () => {
  it('curl -N shows each event when it comes', { skip: missing('curl') }, async (t) => {
    const service = await start(t)
    const headers = { Authorization: await service.bearer() }
    const ask = createClient(service.url, headers)
    const curl = spawn('curl', [
      '-sN',
      '-H',
      `Authorization: ${headers.Authorization}`,
      `${service.url}/v1/events`,
    ])
    t.after(() => void curl.kill())
    const [beginning] = (await once(curl.stdout.setEncoding('utf8'), 'data')) as [string]
    assert.match(beginning, /^retry: 2000\nid: \S+\n\n$/)
    for (const name of ['a', 'b']) {
      const told = once(curl.stdout, 'data') as Promise<[string]>
      await ask('POST', '/configurations/', { body: draft(name) })
      const [event] = eventsIn((await told)[0])
      assert.equal(event?.data.configuration?.name, name)
    }
    const closed = once(curl, 'close')
    await service.stop()
    assert.deepEqual(await closed, [0, null])
  })

  it("npm's eventsource follows with a token, as the manual shows", async (t) => {
    const service = await start(t)
    const authorization = await service.bearer()
    const ask = createClient(service.url, { Authorization: authorization })
    const change = (port: number) => ask('PATCH', '/configurations/a', { body: { port } })
    await ask('POST', '/configurations/', { body: draft('a') })
    const [, , ...lines] = readBlock('follow', 'js').split('\n')
    const text = lines.join('\n').replace('http://localhost:8080', service.url)
    const shown: string[] = []
    const run = new Function('EventSource', 'token', 'console', `${text}; return source`)
    const source: EventSource = run(EventSource, authorization.slice('Bearer '.length), {
      log: (name: string) => shown.push(name),
    })
    t.after(() => source.close())
    await once(source as unknown as EventTarget, 'open')
    const told = once(source as unknown as EventTarget, 'modified')
    await change(23)
    await told
    assert.deepEqual(shown, ['a'])
  })
})
