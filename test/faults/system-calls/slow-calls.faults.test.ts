import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { WAITING_CHANGES_MAX } from '../../../src/limits.ts'
import { missing } from '../../support/debian.ts'
import { eventually } from '../../support/eventually.ts'
import { startExecutable } from '../../support/executable.ts'
import { type Ask, createClient, type Headers, namesIn } from '../../support/http-client.ts'
import { formatRequest, parseAnswers } from '../../support/raw-http.ts'
import { draft } from '../../support/store.ts'
import { attachStrace, oneFileThread } from '../../support/strace.ts'
import { useFolder, withCopy } from './used-folder.ts'

const CHANGES = 20
const SLOW_US = 300_000
/** Longer than the test takes. */
const STUCK_US = 60_000_000
const CLIENTS_AT_ONCE = 1_000

const ignore = () => {}

const used = await useFolder({ after })

describe('a disk that syncs slowly', { skip: missing('strace') }, () => {
  it('delays changes, which all succeed, and no reads', async (t) => {
    await withSlowDisk(t, SLOW_US, async ({ url, data }) => {
      const ask = createClient(url, used.bearer)
      const ended: string[] = []
      const add = (name: string) =>
        ask('POST', '/configurations/', { body: draft(name) }).then((answer) => {
          assert.equal(answer.status, 200, answer.text)
          ended.push(name)
        })
      const first = await isOnItsWay(data, () => add('first'))
      const others = Array.from({ length: CHANGES }, (_, i) => add(`other ${i}`))
      assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['z0', 'z1'])
      assert.equal((await ask('GET', '/configurations/first')).status, 404)
      assert.equal((await ask('GET', '/readyz')).status, 200)
      ended.push('read')
      await first.done
      await Promise.all(others)
      assert.deepEqual(ended.slice(0, 2), ['read', 'first'])
      assert.equal(namesIn(await ask('GET', '/configurations/')).length, 2 + 1 + CHANGES)
    })
  })

  it('makes changes fail with 503 and Retry-After when the backlog is full', async (t) => {
    await withSlowDisk(t, STUCK_US, async ({ url, data }) => {
      const ask = createClient(url, used.bearer)
      const add = () => ask('POST', '/configurations/', { body: draft('first') }).then(ignore, ignore)
      await isOnItsWay(data, add)
      let sent = 0
      let refusal: string | undefined
      while (refusal === undefined && sent <= 2 * WAITING_CHANGES_MAX) {
        refusal = await sendAndGo(t, url, used.bearer, sent, ask)
        sent += CLIENTS_AT_ONCE
      }
      assert.ok(sent > WAITING_CHANGES_MAX, `refused after ${sent}`)
      const [answer] = parseAnswers(refusal ?? '')
      assert.ok(answer !== undefined, `${sent} changes wait and none was refused`)
      assert.equal(answer.status, 503)
      assert.match(answer.head, /^retry-after: \d+$/im)
      assert.match(answer.body, /"urn:connbook:problem:overloaded"/)
      assert.equal((await ask('GET', '/configurations/')).status, 200)
    })
  })
})

async function withSlowDisk(
  t: TestContext,
  delayUs: number,
  action: (server: { url: string; data: string }) => Promise<void>,
) {
  await withCopy(t, used, async (data) => {
    const server = await startExecutable(t, ['--data', data], { environment: oneFileThread })
    const injections = [{ calls: 'fdatasync', fault: `delay_enter=${delayUs}` }]
    const tracer = await attachStrace(t, server.process.pid, { injections, folder: data })
    await action({ url: server.url, data })
    await tracer.kill()
    await server.stop('SIGKILL')
  })
}

/** Sends a change and resolves when it has been written and is being synced. */
async function isOnItsWay(data: string, send: () => Promise<void>): Promise<{ done: Promise<void> }> {
  const size = async () => (await stat(join(data, dataFiles.journal))).size
  const before = await size()
  const done = send()
  await eventually('the change is written', async () => (await size()) > before)
  return { done }
}

/**
 * Sends many changes, each over its own connection, and breaks the connections once the server has had time to take
 * the changes: otherwise the limit of connections would come first.
 *
 * @returns An answer, if there was one.
 */
async function sendAndGo(
  t: TestContext,
  url: string,
  headers: Headers,
  first: number,
  ask: Ask,
): Promise<string | undefined> {
  const { hostname, port } = new URL(url)
  const sockets: Socket[] = []
  const answers: string[] = []
  t.after(() => sockets.forEach((socket) => void socket.destroy()))
  const sent = Array.from({ length: CLIENTS_AT_ONCE }, (_, i) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const body = JSON.stringify(draft(`waiting ${first + i}`))
    const request = formatRequest('POST /configurations/', { ...headers } as Record<string, string>, body)
    const socket = connect({ host: hostname, port: Number(port) }, () =>
      socket.write(request, () => resolve()),
    )
    socket.on('data', (chunk) => answers.push(chunk.toString('latin1')))
    socket.on('error', reject)
    sockets.push(socket)
    return promise
  })
  await Promise.all(sent)
  // Each of these requests takes the server's event loop through one more turn.
  for (let i = 0; i < 10; i++) await ask('GET', '/healthz')
  for (const socket of sockets) socket.resetAndDestroy()
  return answers[0]
}
