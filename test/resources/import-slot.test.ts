import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OverloadedError } from '../../src/errors.ts'
import {
  IMPORT_LOOK_BYTES_MIN,
  IMPORT_LOOK_MS,
  IMPORT_WAIT_MS,
  ImportSlot,
  type ImportTurn,
} from '../../src/resources/import-slot.ts'

/** A slot with the clock stopped. */
function setUp(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const slot = new ImportSlot()
  const told: string[] = []
  return {
    told,
    take: (account: string) => slot.take(account, new AbortController().signal),
    /** Tells when the account gets the slot, or is refused. */
    wait(account: string, signal = new AbortController().signal): { taken: Promise<ImportTurn> } {
      const taken = slot.take(account, signal)
      taken.then(
        () => told.push(account),
        (error: unknown) => told.push(`${account} refused: ${error instanceof OverloadedError}`),
      )
      return { taken }
    },
    async tick(ms: number) {
      t.mock.timers.tick(ms)
      await nextTurn()
    },
  }
}

/** Reads a body without end, and lets the test say how many bytes came, and how long the server waited for them. */
function beginBody(turn: ImportTurn) {
  const progress = { bytes: 0, waitedMs: 0 }
  let checkTurn = () => {}
  const { promise, resolve } = Promise.withResolvers<string>()
  const result = turn.receive(progress, (check) => {
    checkTurn = check
    return promise
  })
  result.catch(() => {})
  return {
    end: () => resolve('body'),
    result,
    check: () => checkTurn(),
    send(bytes: number, waitedMs: number) {
      progress.bytes += bytes
      progress.waitedMs += waitedMs
    },
  }
}

describe('the import slot', () => {
  it('is not reserved for a caller that has gone, who may ask again', async (t) => {
    const { take, told, wait } = setUp(t)
    const first = await take('a')
    const connection = new AbortController()
    wait('b', connection.signal)
    connection.abort(new Error('gone'))
    await nextTurn()
    assert.deepEqual(told, ['b refused: false'])
    const { taken } = wait('b')
    first.release()
    await taken
    assert.deepEqual(told, ['b refused: false', 'b'])
  })

  it('goes from account to account in the order of their requests', async (t) => {
    const { take, told, wait } = setUp(t)
    const first = await take('a')
    const { taken: second } = wait('b')
    wait('c')
    first.release()
    await nextTurn()
    assert.deepEqual(told, ['b'])
    ;(await second).release()
    await nextTurn()
    assert.deepEqual(told, ['b', 'c'])
  })

  it('is refused at once to an account that has it, or waits for it', async (t) => {
    const { take, wait } = setUp(t)
    const first = await take('a')
    await assert.rejects(take('a'), OverloadedError)
    const { taken: second } = wait('b')
    await assert.rejects(take('b'), OverloadedError)
    first.release()
    ;(await second).release()
    ;(await take('a')).release()
  })

  it('is refused after a time, however fast the body under way comes', async (t) => {
    const { take, told, tick, wait } = setUp(t)
    const body = beginBody(await take('a'))
    wait('b')
    for (let ms = 0; ms < IMPORT_WAIT_MS; ms += IMPORT_LOOK_MS) {
      assert.deepEqual(told, [])
      body.send(IMPORT_LOOK_BYTES_MIN, IMPORT_LOOK_MS)
      await tick(IMPORT_LOOK_MS)
    }
    assert.deepEqual(told, ['b refused: true'])
    body.end()
    assert.equal(await body.result, 'body')
  })

  it('is lost by a slow body to another account, but only to one that waits', async (t) => {
    const { take, told, tick, wait } = setUp(t)
    const turn = await take('a')
    const body = beginBody(turn)
    await tick(10 * IMPORT_LOOK_MS)
    body.send(1, 10 * IMPORT_LOOK_MS)
    const { taken: second } = wait('b')
    await tick(IMPORT_LOOK_MS - 1)
    body.send(IMPORT_LOOK_BYTES_MIN - 1, IMPORT_LOOK_MS)
    assert.deepEqual(told, [])
    await tick(1)
    await assert.rejects(body.result, OverloadedError)
    assert.deepEqual(told, ['b'])
    assert.throws(() => body.check(), OverloadedError)

    // The loser must not release the slot of the other.
    turn.release()
    wait('c')
    await nextTurn()
    assert.deepEqual(told, ['b'])
    ;(await second).release()
    await nextTurn()
    assert.deepEqual(told, ['b', 'c'])
  })

  it('is not lost by a body that came faster than a busy server took it', async (t) => {
    const { take, told, tick, wait } = setUp(t)
    const body = beginBody(await take('a'))
    const { taken: second } = wait('b')
    await tick(IMPORT_LOOK_MS)
    body.send(IMPORT_LOOK_BYTES_MIN / 100, IMPORT_LOOK_MS / 100)
    await tick(IMPORT_LOOK_MS)
    body.check()
    assert.deepEqual(told, [])
    body.send(IMPORT_LOOK_BYTES_MIN / 100 - 1, IMPORT_LOOK_MS / 100)
    await tick(IMPORT_LOOK_MS)
    assert.throws(() => body.check(), OverloadedError)
    await second
  })

  it('is not lost once the body has come', async (t) => {
    const { take, told, tick, wait } = setUp(t)
    const turn = await take('a')
    const body = beginBody(turn)
    body.end()
    assert.equal(await body.result, 'body')
    wait('b')
    await tick(IMPORT_WAIT_MS - 1)
    assert.deepEqual(told, [])
    turn.release()
    await nextTurn()
    assert.deepEqual(told, ['b'])
  })

  it('is lost by each slow body in turn', async (t) => {
    const { take, told, tick, wait } = setUp(t)
    const first = beginBody(await take('a'))
    const { taken } = wait('b')
    wait('c')
    first.send(0, IMPORT_LOOK_MS)
    await tick(IMPORT_LOOK_MS)
    assert.deepEqual(told, ['b'])
    beginBody(await taken).send(0, IMPORT_LOOK_MS)
    await tick(IMPORT_LOOK_MS)
    assert.deepEqual(told, ['b', 'c'])
  })
})
