import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { listenToSignals, onInterruption } from '../../src/service/signals.ts'

/** Lets the test send signals, without a listener on the process. */
function holdSignals(t: TestContext) {
  const listeners = new Map<string, (signal: string) => void>()
  t.mock.method(process, 'on', (name: string, listener: (signal: string) => void) => {
    listeners.set(name, listener)
    return process
  })
  const send = (name: NodeJS.Signals) =>
    (listeners.get(name) ?? assert.fail(`nobody listens to ${name}`))(name)
  return { listeners, send }
}

describe('listenToSignals', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`treats ${signal} as a request to stop, and only the first such signal counts`, async (t) => {
      const { send } = holdSignals(t)
      const { stop } = listenToSignals()
      send(signal)
      send(signal === 'SIGINT' ? 'SIGTERM' : 'SIGINT')
      assert.equal(await stop, signal)
    })
  }

  it('reloads at each SIGHUP, and at once for earlier ones', (t) => {
    const { send } = holdSignals(t)
    const { onReload } = listenToSignals()
    let reloads = 0
    send('SIGHUP')
    send('SIGHUP')
    onReload(() => (reloads += 1))
    assert.equal(reloads, 1)
    send('SIGHUP')
    send('SIGHUP')
    assert.equal(reloads, 3)
  })

  it('reloads nothing when no SIGHUP has come', (t) => {
    holdSignals(t)
    listenToSignals().onReload(() => assert.fail('nobody asked for it'))
  })

  it('ignores SIGXFSZ, the signal of a file size limit', (t) => {
    const { send } = holdSignals(t)
    listenToSignals()
    send('SIGXFSZ')
  })
})

describe('onInterruption', () => {
  it('acts on SIGINT and SIGTERM until it is removed', () => {
    const signals = ['SIGINT', 'SIGTERM'] as const
    const before = signals.map((signal) => process.listeners(signal))
    const seen: string[] = []
    const end = onInterruption((signal) => seen.push(signal))
    // Not by process.emit: the test runner listens too.
    for (const [i, signal] of signals.entries()) {
      const added = process.listeners(signal).filter((listener) => !before[i]?.includes(listener))
      for (const listener of added) listener(signal)
    }
    assert.deepEqual(seen, ['SIGINT', 'SIGTERM'])
    end()
    assert.deepEqual(
      signals.map((signal) => process.listeners(signal)),
      before,
    )
  })
})
