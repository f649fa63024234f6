import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import workerThreads, { type Worker } from 'node:worker_threads'
import { type Argon2Worker, createArgon2Worker } from '../../src/auth/argon2-worker.ts'
import { OverloadedError } from '../../src/errors.ts'
import { useFullArgon2 } from '../support/light-argon2.ts'

const QUIET_MS = 1
/** No test takes so long. */
const NEVER_QUIET_MS = 60_000

const parameters = {
  message: 'password',
  nonce: Buffer.from('somesalt'),
  memory: 256,
  passes: 2,
  parallelism: 2,
  tagLength: 32,
}
/** From the tests of the reference implementation. */
const expected = 'bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc='

interface Watched extends Argon2Worker {
  /** All threads that it has started. */
  readonly threads: readonly Worker[]
}

function create(t: TestContext, { quietMs = NEVER_QUIET_MS } = {}): Watched {
  const threads: Worker[] = []
  const { Worker } = workerThreads
  t.mock.property(
    workerThreads,
    'Worker',
    class extends Worker {
      constructor(...args: ConstructorParameters<typeof Worker>) {
        super(...args)
        threads.push(this)
      }
    },
  )
  t.after(() => Promise.all(threads.map((thread) => thread.terminate())))
  return { ...createArgon2Worker({ quietMs }), threads }
}

async function check({ compute }: Argon2Worker): Promise<void> {
  assert.equal(Buffer.from(await compute(parameters)).toString('base64'), expected)
}

describe('the thread for argon2', () => {
  useFullArgon2()

  it('starts at the first call, and computes one hash after the other', async (t) => {
    const worker = create(t)
    assert.equal(worker.threads.length, 0)
    await Promise.all(Array.from({ length: 5 }, () => check(worker)))
    await check(worker)
    assert.equal(worker.threads.length, 1)
  })

  it('ends by itself after some quiet, and another starts at the next call', async (t) => {
    const worker = create(t, { quietMs: QUIET_MS })
    await check(worker)
    const [first = assert.fail('no thread')] = worker.threads
    const [code] = await once(first, 'exit')
    assert.equal(code, 0)
    await check(worker)
    assert.equal(worker.threads.length, 2)
  })

  it('answers each call with its own error', async (t) => {
    const worker = create(t)
    const [wrong] = await Promise.allSettled([
      worker.compute({ ...parameters, parallelism: 0 }),
      check(worker),
      check(worker),
    ])
    assert.equal(wrong.status, 'rejected')
    await check(worker)
    assert.equal(worker.threads.length, 1)
  })

  it('refuses the calls that wait when it dies, and another starts at the next call', async (t) => {
    const worker = create(t)
    await check(worker)
    const waiting = [worker.compute(parameters), worker.compute(parameters)]
    await worker.threads[0]?.terminate()
    for (const { status, ...outcome } of await Promise.allSettled(waiting)) {
      // The first may have been computed before.
      if (status === 'rejected') assert.ok('reason' in outcome && outcome.reason instanceof OverloadedError)
    }
    await check(worker)
    assert.equal(worker.threads.length, 2)
  })

  it('refuses a call when it cannot start', async (t) => {
    const worker = createArgon2Worker()
    const cause = new Error('no more threads')
    const { Worker } = workerThreads
    workerThreads.Worker = class {
      constructor() {
        throw cause
      }
    } as unknown as typeof Worker
    t.after(() => {
      workerThreads.Worker = Worker
    })
    await assert.rejects(worker.compute(parameters), (error) => {
      return error instanceof OverloadedError && error.cause === cause
    })
  })
})
