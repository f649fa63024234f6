import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FollowedCommand, RUN_MS_MAX } from '../../src/commands/followed-command.ts'

/** Commands that end when the test says so, and a wait that is over when it says so. */
function holdCommands() {
  const runs: { end(failure?: string): void; signals: string[] }[] = []
  const said: string[] = []
  const waits: { ms: number; isOver: boolean; end(): void }[] = []
  const command = new FollowedCommand(
    () => {
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      const signals: string[] = []
      runs.push({ end: resolve, signals })
      return { ended: promise, kill: (signal) => void signals.push(signal) }
    },
    (text) => void said.push(text),
    (ms, signal) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const wait = { ms, isOver: false, end: resolve }
      waits.push(wait)
      signal?.addEventListener('abort', () => {
        wait.isOver = true
        resolve()
      })
      return promise
    },
  )
  return { command, runs, said, waits }
}

describe('the command of export --run', () => {
  it('runs at the start, written or not, and then after each write', async () => {
    const { command, runs } = holdCommands()
    command.fileIsFresh(false)
    assert.equal(runs.length, 1)
    runs[0]?.end()
    await nextTurn()
    command.fileIsFresh(false)
    assert.equal(runs.length, 1)
    command.fileIsFresh(true)
    assert.equal(runs.length, 2)
  })

  it('runs one at a time, and once more after it however many writes there were', async () => {
    const { command, runs } = holdCommands()
    for (let i = 0; i < 4; i++) command.fileIsFresh(true)
    assert.equal(runs.length, 1)
    runs[0]?.end()
    await nextTurn()
    assert.equal(runs.length, 2)
    runs[1]?.end()
    await nextTurn()
    assert.equal(runs.length, 2)
  })

  it('says why it failed, and runs again though nothing had to be written', async () => {
    const { command, runs, said } = holdCommands()
    command.fileIsFresh(true)
    runs[0]?.end('ended with exit code 3')
    await nextTurn()
    assert.deepEqual(said, [
      'The command of --run ended with exit code 3; it runs again after the next change',
    ])
    assert.equal(runs.length, 1)
    command.fileIsFresh(false)
    runs[1]?.end()
    await nextTurn()
    command.fileIsFresh(false)
    assert.equal(runs.length, 2)
    assert.equal(said.length, 1)
  })

  it('is ended when it takes too long, and then runs again', async () => {
    const { command, runs, said, waits } = holdCommands()
    command.fileIsFresh(true)
    assert.deepEqual(
      waits.map(({ ms }) => ms),
      [RUN_MS_MAX],
    )
    waits[0]?.end()
    await nextTurn()
    assert.deepEqual(runs[0]?.signals, ['SIGKILL'])
    runs[0]?.end('was ended by SIGKILL')
    await nextTurn()
    assert.deepEqual(said, [
      'The command of --run took more than 60 s, and was ended with its children; it runs again after the next change',
    ])
    command.fileIsFresh(false)
    assert.equal(runs.length, 2)
    runs[1]?.end()
    await nextTurn()
    assert.equal(waits[1]?.isOver, true)
  })

  it('is asked to end at the stop, and nothing starts after that', async () => {
    const { command, runs, said } = holdCommands()
    command.fileIsFresh(true)
    command.fileIsFresh(true)
    const stopped = command.stop()
    assert.deepEqual(runs[0]?.signals, ['SIGTERM'])
    runs[0]?.end('was ended by SIGTERM')
    await stopped
    await nextTurn()
    command.fileIsFresh(true)
    await nextTurn()
    assert.equal(runs.length, 1)
    assert.deepEqual(said, [])
  })

  it('is ended at the stop if it does not end when asked', async () => {
    const { command, runs, waits } = holdCommands()
    command.fileIsFresh(true)
    const stopped = command.stop()
    waits[1]?.end()
    await stopped
    assert.deepEqual(runs[0]?.signals, ['SIGTERM', 'SIGKILL'])
  })
})
