import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeFlags, optionNames } from '../../src/command-line/options.ts'
import { commands } from '../../src/commands/commands.ts'
import { runCommand } from '../support/command.ts'

describe('the table of commands', () => {
  for (const { name, flags } of commands) {
    it(`${name}: accepts exactly the flags in its help`, async () => {
      for (const option of optionNames) {
        const [{ usage = '' } = {}] = describeFlags([option])
        const [flag] = usage.split(' ')
        const isKnown = describeFlags(flags).some((known) => known.usage.split(' ')[0] === flag)
        // An empty value is invalid for every flag; a flag that is not accepted may have a valid one.
        const args = [...name.split(' '), `${flag}=${isKnown ? '' : 'yes'}`]
        const { code, stdout, stderr } = await runCommand(args)
        assert.deepEqual([code, stdout], [2, ''])
        assert.match(stderr, isKnown ? /^connbook: Cannot use --/ : /^connbook: Unknown flag "--/)
      }
    })
  }
})
