import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { Problem } from '../../src/http/problem.ts'
import { TAKING_TIMEOUT_MS } from '../../src/limits.ts'
import type { ShortWorkScheduler } from '../../src/scheduler.ts'
import { Connections } from '../../src/server/connections.ts'
import { HeldBytes } from '../../src/server/held-bytes.ts'
import type { IncomingRequest } from '../../src/server/incoming-request.ts'
import { sendPieces } from '../../src/server/reply.ts'

/** A body in pieces, sent to a client that has taken nothing yet, and its connection. */
async function setUp(t: TestContext, pieces: Iterable<string> = ['a', 'b']) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const socket = { isDestroyed: false, destroy: () => void Object.assign(socket, { isDestroyed: true }) }
  const written: string[] = []
  const response = Object.assign(new EventEmitter(), {
    ...{ closed: false, req: { socket }, write: (piece: string) => written.push(piece) > 0 && piece === '' },
    end: () => void written.push('end'),
  })
  const untaken = new HeldBytes(0, new Connections(1, () => {}), () => {}, 'answers')
  const held = { isAllowed: true }
  const checkAgain = () => {
    if (!held.isAllowed) throw new Problem('not_authenticated', 'The account is gone')
  }
  const request = { response, checkAgain } as unknown as IncomingRequest
  let turns = 0
  const scheduler: ShortWorkScheduler = {
    async once(_, work) {
      turns += 1
      return work()
    },
  }
  const sent = sendPieces(pieces, request, scheduler, untaken)
  const isWritten = async (text: string) => {
    while (written.join('') !== text) await Promise.resolve()
  }
  await isWritten('a')
  return { socket, response, sent, isWritten, written, held, turns: () => turns }
}

describe('an answer in pieces', () => {
  it('closes its connection when a piece is not taken in time', async (t) => {
    const { socket } = await setUp(t)
    t.mock.timers.tick(TAKING_TIMEOUT_MS - 1)
    assert.equal(socket.isDestroyed, false)
    t.mock.timers.tick(1)
    assert.equal(socket.isDestroyed, true)
  })

  it('is broken off when its caller may not read any more', async (t) => {
    const { socket, response, sent, written, held } = await setUp(t)
    held.isAllowed = false
    response.emit('drain')
    await sent
    assert.deepEqual([written, socket.isDestroyed], [['a'], true])
  })

  it('takes a turn for its empty pieces only after about a millisecond', async (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const { turns } = await setUp(
      t,
      (function* () {
        for (let i = 0; i < 100; i++) {
          now += 0.05
          yield ''
        }
        yield 'a'
      })(),
    )
    assert.ok(turns() >= 4 && turns() <= 7, `${turns()} turns`)
  })

  it('has a new time limit for each piece', async (t) => {
    const { socket, response, isWritten } = await setUp(t)
    t.mock.timers.tick(TAKING_TIMEOUT_MS - 1)
    response.emit('drain')
    await isWritten('ab')
    t.mock.timers.tick(TAKING_TIMEOUT_MS - 1)
    assert.equal(socket.isDestroyed, false)
  })

  it('closes its connection when its end is buffered but not taken in time', async (t) => {
    const { socket, response, isWritten } = await setUp(t)
    response.emit('drain')
    await isWritten('ab')
    response.emit('drain')
    await isWritten('abend')
    t.mock.timers.tick(TAKING_TIMEOUT_MS)
    assert.equal(socket.isDestroyed, true)
  })

  it('keeps its connection once it has been taken', async (t) => {
    const { socket, response, sent, isWritten } = await setUp(t)
    response.emit('drain')
    await isWritten('ab')
    response.emit('drain')
    await isWritten('abend')
    response.emit('close')
    await sent
    t.mock.timers.tick(TAKING_TIMEOUT_MS)
    assert.equal(socket.isDestroyed, false)
  })
})
