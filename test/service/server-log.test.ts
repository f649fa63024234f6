import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLineQueue } from '../../src/service/server-log.ts'

const LONG_MS = 60_000

/** A queue of at most 10 bytes; the test decides when its reader takes a batch. */
function setUp() {
  const sent: string[] = []
  const pending: ((unsent: number) => void)[] = []
  const queue = createLineQueue(
    (lines, done) => {
      sent.push(lines)
      pending.push(done)
    },
    (count) => queue.write(`${count} lost\n`),
    10,
  )
  /** @param unsent Lines of the batch that could not be sent. */
  const take = (unsent = 0) => (pending.shift() ?? assert.fail('nothing is being sent'))(unsent)
  return { queue, sent, take, isIdle: () => pending.length === 0 }
}

describe('createLineQueue', () => {
  it('sends a line at once, and the lines that arrive meanwhile as one batch', () => {
    const { queue, sent, take, isIdle } = setUp()
    for (const line of ['1\n', '2\n', '3\n']) queue.write(line)
    assert.deepEqual(sent, ['1\n'])
    take()
    queue.write('4\n')
    take()
    take()
    assert.deepEqual(sent, ['1\n', '2\n3\n', '4\n'])
    assert.ok(isIdle())
  })

  it('drops lines when it is full, and reports that once in their place', () => {
    const { queue, sent, take, isIdle } = setUp()
    // The last would fit, but comes after some that do not.
    for (const line of ['first\n', '12345678\n', '9\n', 'a\n', '\n']) queue.write(line)
    take()
    queue.write('c\n')
    take()
    take()
    assert.deepEqual(sent, ['first\n', '12345678\n', '3 lost\nc\n'])
    assert.ok(isIdle())
  })

  it('counts bytes, not characters', () => {
    const { queue, sent, take } = setUp()
    for (const line of ['1\n', 'éééééé\n', '2\n']) queue.write(line)
    take()
    assert.deepEqual(sent, ['1\n', '2 lost\n'])
  })

  it('reports lines that could not be sent only once another could', () => {
    const { queue, sent, take, isIdle } = setUp()
    queue.write('1\n')
    take(1)
    assert.ok(isIdle())
    queue.write('2\n')
    take(1)
    queue.write('3\n')
    take()
    take()
    assert.deepEqual(sent, ['1\n', '2\n', '3\n', '2 lost\n'])
    assert.ok(isIdle())
  })

  it('is flushed when everything has been sent', async () => {
    const { queue, take } = setUp()
    await queue.flush(LONG_MS)
    queue.write('1\n')
    queue.write('2\n')
    let isFlushed = false
    const flushed = queue.flush(LONG_MS).then(() => {
      isFlushed = true
    })
    take()
    await Promise.resolve()
    assert.equal(isFlushed, false)
    take()
    await flushed
  })

  it('drops waiting lines that are not taken in time', async () => {
    const { queue, sent, take } = setUp()
    queue.write('1\n')
    queue.write('2\n')
    await queue.flush(1)
    assert.equal(queue.takeWaiting(), '')
    take()
    assert.deepEqual(sent, ['1\n'])
  })

  it('hands out the waiting lines, which are then not sent', () => {
    const { queue, sent, take } = setUp()
    queue.write('1\n')
    queue.write('2\n')
    assert.equal(queue.takeWaiting(), '2\n')
    take()
    assert.deepEqual(sent, ['1\n'])
  })
})
