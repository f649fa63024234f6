import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { runCommand } from '../support/command.ts'
import { start, usedFolder } from '../support/service.ts'

async function remove(t: TestContext, ...before: readonly string[][]) {
  const folder = await usedFolder(t)
  const run = (words: readonly string[]) => runCommand([...words, '--data', folder], { input: 'a secret' })
  for (const words of before) assert.equal((await run(words)).stderr, '')
  return { folder, ...(await run(['client', 'remove', 'script'])) }
}

describe('removing an account', () => {
  it('warns when it was the last', async (t) => {
    const { folder, code, stdout, stderr } = await remove(t, ['user', 'remove', 'admin'])
    assert.deepEqual([code, stdout], [0, `Removed client "script" from ${folder}\n`])
    assert.equal(
      stderr,
      `connbook: Warning: there is no user and no client any more, so nobody can log in; add an account: connbook user add NAME --data '${folder}'\n`,
    )
  })

  it('warns when only read-only accounts are left', async (t) => {
    const added = ['user', 'add', 'eve', '--read-only']
    const { code, stderr } = await remove(t, added, ['user', 'remove', 'admin'])
    assert.equal(code, 0)
    assert.match(stderr, /every account is read-only now, so nobody can change records; add an account: /)
  })

  it('does not warn while another can change records', async (t) => {
    const { code, stderr } = await remove(t)
    assert.deepEqual([code, stderr], [0, ''])
  })
})

describe('a start without accounts', () => {
  it('makes none, and logs that nobody can log in', async (t) => {
    const { folder } = await remove(t, ['user', 'remove', 'admin'])
    const { log } = await start(t, { folder })
    const warnings = log.lines.filter((line) => line.includes('nobody_can_log_in'))
    assert.equal(warnings.length, 1)
  })
})
