import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { EVENTS_RETRY_MS } from '../../../src/limits.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/free-port.ts'
import { createClient } from '../../support/http-client.ts'
import { start, usedFolder } from '../../support/service.ts'
import { skipPauses } from '../../support/skipped-pauses.ts'
import { openHome, openServer, web1 } from './client-home.ts'
import { problemOf, serveOther } from './other-server.ts'

const ended = problemOf(403, 'invalid_token', 'The token is not valid')
const other = { ...web1, id: 2, name: 'b' }
const first = { ...web1, id: 1, name: 'a' }

/** One answer after the other to each call for the list and to each for events; then nobody is let in any more. */
async function serveStreams(t: TestContext, lists: readonly object[][], streams: readonly string[]) {
  const calls: string[] = []
  const count = { lists: 0, streams: 0 }
  const url = await serveOther(t, (request: IncomingMessage, response: ServerResponse) => {
    calls.push([request.url, request.headers['last-event-id']].filter(Boolean).join(' '))
    if (request.url?.startsWith('/configurations/')) {
      const list = lists[count.lists]
      count.lists += 1
      response.setHeader('ETag', `"list-${count.lists}"`)
      response.end(JSON.stringify({ configurations: list }))
      return
    }
    const stream = streams[count.streams]
    count.streams += 1
    if (stream === undefined) response.writeHead(403).end(JSON.stringify(ended))
    else response.end(`retry: 1\n\n${stream}`)
  })
  const { run } = await openHome(t, { CONNBOOK_SERVER: url, CONNBOOK_TOKEN: 'x' })
  return { run, calls, url }
}

function eventOf(id: string, event: string, configuration: object, before?: object) {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify({ configuration, before })}\n\n`
}

const goingOn = 'connbook: the server has ended the stream; going on in a moment\n'
const refused = 'connbook: The token is not valid\n'

describe('connbook watch', () => {
  it('prints a line for each change, and goes on where a stream broke', async (t) => {
    const streams = [
      eventOf('e1', 'added', first) + eventOf('e2', 'modified', other, first).slice(0, -2),
      eventOf('e2', 'modified', { ...first, name: 'c' }, first) +
        eventOf('e3', 'removed', { ...first, name: 'c' }),
    ]
    const { run, calls } = await serveStreams(t, [[]], streams)
    const { code, stdout, stderr } = await run(['watch'])
    assert.equal(
      stdout,
      'added\ta\t192.0.2.10\t22\tdeploy\n' +
        'modified\tc\t192.0.2.10\t22\tdeploy\twas a\n' +
        'removed\tc\t192.0.2.10\t22\tdeploy\n',
    )
    assert.deepEqual([code, stderr], [5, goingOn + goingOn + refused])
    assert.deepEqual(calls, ['/configurations/', '/v1/events list-1', '/v1/events e1', '/v1/events e3'])
  })

  it('compares the list when the server no longer knows the changes', async (t) => {
    const streams = [`${eventOf('e1', 'added', { ...other, id: 3, name: 'd' })}event: reset\ndata: {}\n\n`]
    const moved = { ...other, port: 23 }
    const { run, calls } = await serveStreams(
      t,
      [
        [first, other],
        [moved, { ...first, id: 4 }],
      ],
      streams,
    )
    const { stdout } = await run(['watch', '--json'])
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      lines.map(({ event, id, configuration, before }) => [event, id, configuration.id, before?.port]),
      [
        ['added', 'e1', 3, undefined],
        ['removed', 'list-2', 1, undefined],
        ['removed', 'list-2', 3, undefined],
        ['modified', 'list-2', 2, 22],
        ['added', 'list-2', 4, undefined],
      ],
    )
    assert.deepEqual(calls.slice(2), ['/configurations/', '/v1/events list-2'])
  })

  it('sends its filter with each call', async (t) => {
    const { run, calls } = await serveStreams(t, [[]], [''])
    await run(['watch', '--prefix', 'a b', '--label', 'x=y'])
    const query = '?prefix=a%20b&label=x%3Dy'
    assert.deepEqual(calls, [
      `/configurations/${query}`,
      `/v1/events${query} list-1`,
      `/v1/events${query} list-1`,
    ])
  })

  it('ends when nobody reads any more', async (t) => {
    const { run } = await serveStreams(t, [[]], [eventOf('e1', 'added', first)])
    assert.deepEqual(await run(['watch'], { outputError: 'EPIPE' }), { code: 0, stdout: '', stderr: '' })
  })

  it('escapes on a terminal what turns the direction of text, and not in a pipe', async (t) => {
    const change = eventOf('e1', 'modified', { ...first, name: 'a\u202e' }, { ...first, name: '\u202e' })
    const { run } = await serveStreams(t, [[], [], []], [change, change, change])
    for (const form of [[], ['--json']]) {
      const words = ['watch', ...form]
      const streams = await serveStreams(t, [[]], [change])
      assert.doesNotMatch((await streams.run(words, { isTerminal: true })).stdout, /\p{Cf}/u)
    }
    assert.match((await run(['watch'])).stdout, /^modified\ta\u202e\t.*\twas \u202e\n/)
  })

  it('says of anything else that it is not a change', async (t) => {
    for (const data of ['', '{}', '{"configuration":{"id":0}}', 'x']) {
      const { run } = await serveStreams(t, [[]], [`id: 1\nevent: added\ndata: ${data}\n\n`])
      const { code, stdout, stderr } = await run(['watch'])
      assert.deepEqual(
        [code, stdout, stderr],
        [1, '', 'connbook: The event stream has something that is no change of a record\n'],
      )
    }
  })

  it('names what is not valid by the flag', async (t) => {
    const { run } = await openServer(t)
    const { code, stderr } = await run(['watch', '--port', 'x'])
    assert.equal(code, 2)
    assert.match(stderr, /\n {2}--port must /)
  })

  it('goes on after a restart of the server, without gap or doubling', async (t) => {
    skipPauses(t, EVENTS_RETRY_MS)
    const folder = await usedFolder(t)
    const place = ['--host', '127.0.0.1', '--port', String(await freePort())]
    const open = async () => {
      const service = await start(t, { folder, place })
      return { service, ask: createClient(service.url, { Authorization: await service.bearer() }) }
    }
    const add = (ask: ReturnType<typeof createClient>, name: string) =>
      ask('POST', '/configurations/', { body: { ...web1, name } })
    const before = await open()
    const token = (await before.service.bearer()).slice('Bearer '.length)
    const { run } = await openHome(t, { CONNBOOK_SERVER: before.service.url, CONNBOOK_TOKEN: token })
    const onOutput = (stdout: string) => {
      if (stdout.includes('added\tc')) throw Object.assign(new Error('EPIPE'), { code: 'EPIPE' })
    }
    const watching = run(['watch'], { onOutput })
    const isFollowed = ({ ask }: typeof before) =>
      eventually('a stream is open', async () =>
        /^connbook_event_streams 1$/m.test((await ask('GET', '/metrics')).text),
      )
    await isFollowed(before)
    await add(before.ask, 'a')
    await before.service.stop()
    const later = await open()
    await add(later.ask, 'b')
    await isFollowed(later)
    await add(later.ask, 'c')
    const { code, stdout } = await watching
    assert.equal(code, 0)
    assert.deepEqual(stdout.match(/^\w+\t\w+/gm), ['added\ta', 'added\tb', 'added\tc'])
  })
})
