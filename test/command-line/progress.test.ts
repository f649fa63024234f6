import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Progress } from '../../src/command-line/progress.ts'

/** A bar on a screen, with a clock that the test holds. */
function draw(isTTY: boolean, what = 'Reading x') {
  const written: string[] = []
  const clock = { ms: 0 }
  const screen = { isTTY, write() {}, draw: (text: string) => written.push(text) }
  return { progress: new Progress(what, screen, () => clock.ms), written, clock }
}

describe('a progress bar', () => {
  it('appears after a second, is updated at most ten times a second, and disappears at the end', () => {
    const { progress, written, clock } = draw(true)
    for (const [ms, share] of [
      [0, 0],
      [999, 0.4],
      [1000, 0.5],
      [1050, 0.6],
      [1100, 0.999],
      [1300, undefined],
    ] as const) {
      clock.ms = ms
      progress.show(share)
    }
    progress.end()
    progress.end()
    assert.deepEqual(written, [
      `\rReading x [${'#'.repeat(15)}${' '.repeat(15)}]  50 %`,
      `\rReading x [${'#'.repeat(30)}]  99 %`,
      '\rReading x …',
      `\r${' '.repeat(48)}\r`,
    ])
  })

  it('lets the name of a file control nothing', () => {
    const { progress, written, clock } = draw(true, 'Reading \u202ex')
    clock.ms = 1000
    progress.show(undefined)
    progress.end()
    assert.deepEqual(written, ['\rReading \\u202ex …', `\r${' '.repeat(17)}\r`])
  })

  it('stays hidden for short work, and without a terminal', () => {
    for (const [isTTY, ms] of [
      [true, 999],
      [false, 60_000],
    ] as const) {
      const { progress, written, clock } = draw(isTTY)
      clock.ms = ms
      progress.show(0.5)
      progress.end()
      assert.deepEqual(written, [])
    }
  })
})
