import '../support/node-version.ts'
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BODY_PIECES_HELD_MAX, BODY_PIECES_MAX } from '../../src/limits.ts'
import { countUntakenPieces, UNTAKEN_PIECE_BYTES } from '../../src/server/untaken-pieces.ts'

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
