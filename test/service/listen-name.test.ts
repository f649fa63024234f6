import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { Listener } from '../../src/server/listener.ts'
import { ListenError, listen } from '../../src/service/listen.ts'
import { freePort } from '../support/free-port.ts'
import { createMemoryLog } from '../support/memory-log.ts'

/** An address of a documentation network (RFC 5737), which no machine has. */
const ELSEWHERE = '192.0.2.1'

/** Listens on a name that has these addresses. */
async function listenOn(t: TestContext, addresses: readonly string[], wantedPort = '0') {
  const app = () => ({ status: 204, headers: {} })
  const listener = new Listener({
    ...{ app, scheduler: new Scheduler(), log: createMemoryLog(), hasAccessLog: false },
  })
  t.after(() => listener.drain(0))
  const { options } = parseCommandLine(['--host', 'book', '--port', wantedPort], {}, serverFlags)
  const reached = await listen(listener, options, {}, false, async () => addresses)
  const port = new URL(reached.origin).port
  return { listener, reached, ask: async (host: string) => (await fetch(`http://${host}:${port}/`)).status }
}

describe('--host with a name', () => {
  it('listens on each of its addresses, at one port', async (t) => {
    const { reached, ask, listener } = await listenOn(t, ['127.0.0.1', '127.0.0.2'])
    assert.match(reached.origin, /^http:\/\/book:[1-9]\d*$/)
    assert.equal(reached.address, '127.0.0.1')
    assert.deepEqual([await ask('127.0.0.1'), await ask('127.0.0.2')], [204, 204])
    await listener.drain(0)
    await assert.rejects(ask('127.0.0.2'))
  })

  it('leaves out an address that the machine does not have, if there is another', async (t) => {
    for (const addresses of [
      [ELSEWHERE, '127.0.0.1'],
      ['127.0.0.1', ELSEWHERE],
    ])
      assert.equal(await (await listenOn(t, addresses)).ask('127.0.0.1'), 204)
  })

  it('listens nowhere if another process has its port on one of them', async (t) => {
    const port = await freePort()
    const other = createServer().listen(port, '127.0.0.2')
    t.after(() => other.close())
    await once(other, 'listening')
    await assert.rejects(listenOn(t, ['127.0.0.1', '127.0.0.2'], String(port)), /127\.0\.0\.2:\d+: another/)
    await assert.rejects(fetch(`http://127.0.0.1:${port}/`))
  })

  it('is refused if the machine has none of them', async (t) => {
    await assert.rejects(listenOn(t, [ELSEWHERE]), (error) => {
      return error instanceof ListenError && /192\.0\.2\.1:0: this machine has no such/.test(error.message)
    })
  })
})
