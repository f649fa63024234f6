import '../support/node-version.ts'
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BODY_PIECES_HELD_MAX, BODY_PIECES_MAX } from '../../src/limits.ts'
import { BodyMeter, countUntakenPieces, UNTAKEN_PIECE_BYTES } from '../../src/server/body-reading.ts'

function setUp() {
  const incoming = new Readable({ read() {} })
  const held = new Set<{ readonly bytes: number }>()
  countUntakenPieces(incoming as IncomingMessage, (bytes) => {
    const part = { bytes }
    held.add(part)
    return () => void held.delete(part)
  })
  const push = (pieces: number) => {
    for (let i = 0; i < pieces; i++) incoming.push(Buffer.from('x'))
  }
  return { incoming, push, held: () => Array.from(held, ({ bytes }) => bytes) }
}

describe('the pieces of a body that nobody takes yet', () => {
  it('count as held, a few at a time, until somebody takes them', async () => {
    const { incoming, push, held } = setUp()
    push(BODY_PIECES_HELD_MAX - 1)
    assert.deepEqual(held(), [])
    push(1)
    assert.deepEqual(held(), [BODY_PIECES_HELD_MAX * UNTAKEN_PIECE_BYTES])
    push(BODY_PIECES_HELD_MAX)
    assert.deepEqual(held(), [2 * BODY_PIECES_HELD_MAX * UNTAKEN_PIECE_BYTES])
    let taken = 0
    incoming.on('data', (piece: Buffer) => {
      taken += piece.length
    })
    await nextTurn()
    assert.deepEqual([taken, held()], [2 * BODY_PIECES_HELD_MAX, []])
    push(2 * BODY_PIECES_MAX)
    assert.deepEqual(held(), [])
    assert.equal(incoming.destroyed, false)
  })

  it('close the connection if they are too many', async () => {
    const { incoming, push, held } = setUp()
    push(BODY_PIECES_MAX)
    assert.equal(incoming.destroyed, false)
    push(1)
    assert.equal(incoming.destroyed, true)
    await nextTurn()
    assert.deepEqual(held(), [])
  })
})

describe('the progress of a body', () => {
  it('counts what arrived, and the time in which nothing was there', (t) => {
    let now = 1_000
    t.mock.method(performance, 'now', () => now)
    const progress = new BodyMeter()
    const look = (ms: number) => {
      now += ms
      return [progress.bytes, progress.waitedMs]
    }
    assert.deepEqual(look(5), [0, 0])
    progress.wait()
    assert.deepEqual(look(10), [0, 10])
    progress.wait()
    assert.deepEqual(look(10), [0, 20])
    progress.arrive(3)
    assert.deepEqual(look(100), [3, 20])
    progress.arrive(4)
    progress.wait()
    assert.deepEqual(look(1), [7, 21])
  })
})
