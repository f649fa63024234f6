import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { describeFlags, optionNames } from '../../src/command-line/options.ts'
import { commands } from '../../src/commands/commands.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { runCommand } from '../support/command.ts'
import { hurryClock } from '../support/hurried-clock.ts'
import { usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** What a command needs beside its flags, to get as far as the server. */
const operands: Record<string, readonly string[]> = {
  get: ['a'],
  add: ['a', '--hostname', 'h', '--port', '1', '--username', 'u'],
  set: ['a', '--port', '1'],
  rm: ['a'],
}

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

  for (const command of commands) {
    const { name, flags, server } = command

    it(`${name}: says that it needs a running server exactly if it only calls one`, () => {
      assert.equal(server === 'running', ['login', 'logout', 'healthcheck'].includes(name))
    })

    if (server === 'running' && flags.includes('data')) {
      it(`${name}: cannot do without a running server`, async (t) => {
        const { code, stderr } = await runCommand([
          ...[name, ...(operands[name] ?? [])],
          ...['--data', await usedFolder(t)],
        ])
        assert.equal(code, 6, stderr)
      })
    } else if (server === 'stopped') {
      it(`${name}: cannot do with a running server`, async (t) => {
        const path = await usedFolder(t)
        const backup = join(await temporaryFolder(t), 'backup.json')
        assert.equal((await runCommand(['backup', backup, '--data', path])).code, 0)
        const folder = await openDataFolder(path)
        t.after(() => folder.release())
        hurryClock(t)
        const operand = command.operands === undefined ? [] : [backup]
        const { code, stderr } = await runCommand([name, ...operand, '--data', path])
        assert.equal(code, 75, stderr)
      })
    }
  }
})
