import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTurns } from '../../src/server/turns.ts'

describe('turns', () => {
  it('come in the order of the requests, never synchronously', async () => {
    const turns = createTurns()
    const done: number[] = []
    const all = [1, 2, 3].map((i) => new Promise<void>((resolve) => turns(() => resolve(void done.push(i)))))
    assert.deepEqual(done, [])
    await Promise.all(all)
    assert.deepEqual(done, [1, 2, 3])
  })

  it('let the event loop run in between', async () => {
    const turns = createTurns()
    const seen: string[] = []
    turns(() => {
      seen.push('first')
      setImmediate(() => seen.push('somebody else'))
    })
    turns(() => seen.push('second'))
    await new Promise<void>(turns)
    assert.deepEqual(seen, ['first', 'somebody else', 'second'])
  })
})
