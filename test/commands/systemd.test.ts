import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'

describe('connbook systemd', () => {
  it('prints a socket unit that uses the flags and ignores the variables', async () => {
    const environment = { CONNBOOK_PORT: '81' }
    for (const [flags, port] of [
      [['--port', '82'], 82],
      [[], 8080],
    ] as const) {
      const { code, stdout, stderr } = await runCommand(['systemd', '--socket', ...flags], { environment })
      assert.deepEqual([code, stderr], [0, ''])
      assert.match(stdout, new RegExp(`^ListenStream=(.*:)?${port}$`, 'm'))
    }
  })

  it('has no executable to start when it runs from source', async () => {
    const { code, stdout, stderr } = await runCommand(['systemd'])
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /this runs from source; use dist\/connbook\n$/)
  })

  it('refuses a flag with a control character, which could start a new line in the unit', async () => {
    const args = ['systemd', '--socket', '--data', '/a\nUser=root']
    const { code, stdout, stderr } = await runCommand(args)
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(
      stderr,
      /Cannot use --data "\/a\\u000aUser=root": it must be a path without control characters; /,
    )
  })
})
