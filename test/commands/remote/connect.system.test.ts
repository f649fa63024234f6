import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import { asPlainAccount, giveToPlainAccount } from '../../support/plain-account.ts'
import { firstStartEnvironment } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

describe('connbook beside its server', () => {
  it('calls the server of ./data without a login, and does without once that has died', async (t) => {
    const cwd = await temporaryFolder(t)
    await mkdir(join(cwd, 'data'))
    await giveToPlainAccount(cwd)
    const place = { cwd, through: asPlainAccount }
    const server = await startExecutable(t, [], { ...place, environment: firstStartEnvironment })
    const run = (...args: string[]) =>
      runExecutable(args, { ...place, environment: { XDG_STATE_HOME: join(cwd, 'state') } })
    const added = await run('add', 'web1', '--hostname', 'h', '--port', '1', '--username', 'u')
    assert.deepEqual(added, { code: 0, stdout: '', stderr: `Added "web1" in ${join(cwd, 'data')}\n` })
    assert.equal((await run('ls', '--names')).stdout, 'web1\n')
    await server.stop('SIGKILL')
    assert.deepEqual(await run('ls', '--names'), { code: 0, stdout: 'web1\n', stderr: '' })
  })
})
