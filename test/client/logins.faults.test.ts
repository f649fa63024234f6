import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { loginsOf } from '../../src/client/logins.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const login = (server: string) => ({ server, user: 'eve', cookie: 'c=1' })

describe('kept logins', () => {
  it('are whole when the process that changes them is killed, before each thing that it does with files', async (t) => {
    const state = await temporaryFolder(t)
    const logins = loginsOf({ XDG_STATE_HOME: state })
    const [before, changed] = [login('http://a'), login('http://b')]
    await logins.keep(before)
    const seen = new Set<number>()
    let isDone = false
    for (let operations = 0; !isDone; operations++) {
      const [code, signal] = await keepUntilKilled(state, changed, operations)
      isDone = code === 0
      assert.ok(isDone || signal === 'SIGKILL', `exit code ${code}`)
      const kept = await logins.list()
      assert.deepEqual(kept, [before, changed].slice(0, kept.length))
      seen.add(kept.length)
      // The next command is not held up by what was left, and removes it.
      await logins.forget(changed.server)
      assert.deepEqual((await readdir(dirname(logins.path))).toSorted(), ['.sessions-lock', 'sessions.json'])
    }
    assert.deepEqual([...seen].toSorted(), [1, 2])
  })
})
/** Keeps a login in a process that kills itself instead of an operation, which may be the next piece of a write. */
async function keepUntilKilled(state: string, kept: object, operations: number) {
  const script = `
    import { loginsOf } from ${JSON.stringify(import.meta.resolve('../../src/client/logins.ts'))}
    import { createFailingFiles } from ${JSON.stringify(import.meta.resolve('../support/failing-files.ts'))}
    const files = createFailingFiles()
    files.writeBytesMax = 64
    files.before = () => files.calls.length > ${operations} && process.kill(process.pid, 'SIGKILL')
    await loginsOf({ XDG_STATE_HOME: ${JSON.stringify(state)} }, files).keep(${JSON.stringify(kept)})`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'inherit' })
  return (await once(child, 'exit')) as [code: number | null, signal: NodeJS.Signals | null]
}
