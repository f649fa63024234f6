import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { terminalStyleOf } from '../../src/command-line/terminal-style.ts'

describe('terminalStyleOf', () => {
  const looks: readonly (readonly [isTTY: boolean, environment: NodeJS.ProcessEnv, isBold: boolean])[] = [
    [true, { TERM: 'xterm-256color' }, true],
    [true, {}, process.platform === 'win32'],
    [true, { TERM: '' }, process.platform === 'win32'],
    [true, { TERM: 'xterm', NO_COLOR: '' }, true],
    [true, { NO_COLOR: '1' }, false],
    [true, { TERM: 'dumb' }, false],
    [false, {}, false],
    [false, { FORCE_COLOR: '1' }, false],
  ]
  for (const [isTTY, environment, isBold] of looks) {
    it(`${isBold ? 'has' : 'has no'} bold headings ${isTTY ? 'on a terminal' : 'in a pipe'} with ${JSON.stringify(environment)}`, () => {
      assert.deepEqual(terminalStyleOf({ isTTY }, environment), { isTerminal: isTTY, isBold, columns: 80 })
    })
  }

  const widths: readonly (readonly [isTTY: boolean, told: number | undefined, columns: number])[] = [
    [true, 60, 60],
    [true, 100, 100],
    [true, 300, 100],
    [true, 10, 40],
    [true, 0, 80],
    [true, undefined, 80],
    [false, 60, 80],
  ]
  for (const [isTTY, told, columns] of widths) {
    it(`has ${columns} columns ${isTTY ? 'on a terminal' : 'in a pipe'} that reports ${told}`, () => {
      const output = told === undefined ? { isTTY } : { isTTY, columns: told }
      assert.equal(terminalStyleOf(output, {}).columns, columns)
    })
  }

  it('has the width of the terminal itself only if that reports one', () => {
    assert.equal(terminalStyleOf({ isTTY: true, columns: 300 }, {}).terminalColumns, 300)
    for (const output of [{ isTTY: true }, { isTTY: true, columns: 0 }, { isTTY: false, columns: 300 }])
      assert.equal(terminalStyleOf(output, {}).terminalColumns, undefined)
  })
})
