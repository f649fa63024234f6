import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { admin, client, start, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('user and client', () => {
  it('show the absolute path of the folder, however it was given', async (t) => {
    const folder = await usedFolder(t)
    const cwd = dirname(folder)
    for (const data of [basename(folder), `./x/../${basename(folder)}`]) {
      await mkdir(join(folder, 'x'), { recursive: true })
      const { stderr } = await runExecutable(['client', 'rotate', 'script', `--data=${data}`], { cwd })
      assert.ok(stderr.includes(`"script" in ${folder}; every token of this client has ended`), stderr)
    }
    const environment = { CONNBOOK_DATA: folder }
    assert.equal(
      (await runCommand(['user', 'remove', 'admin'], { environment })).stderr.split('\n')[0],
      `Removed user "admin" in ${folder}`,
    )
  })

  it('clear the throttle of the account that gets a new secret, on the running server', async (t) => {
    const folder = await usedFolder(t)
    const ask = createClient((await startExecutable(t, ['--data', folder])).url)
    const logIn = async (password: string) =>
      (await ask('POST', '/login', { body: { ...admin, password } })).status
    const getToken = async (client_secret: string) =>
      (await ask('POST', '/v1/auth/token', { body: { ...client, client_secret } })).status
    for (let i = 0; i < FREE_FAILURES; i += 1) {
      assert.deepEqual([await logIn('wrong'), await getToken('wrong')], [401, 401])
    }
    assert.deepEqual([await logIn(admin.password), await getToken(client.client_secret)], [429, 429])

    const input = 'new password'
    assert.equal((await runExecutable(['user', 'passwd', 'admin', '--data', folder], { input })).code, 0)
    assert.equal(await logIn(input), 200)
    assert.equal(await getToken(client.client_secret), 429)

    const { stdout } = await runExecutable(['client', 'rotate', 'script', '--data', folder])
    const secret = /^client_secret: (\S+)$/m.exec(stdout)?.[1] ?? assert.fail(stdout)
    assert.equal(await getToken(secret), 200)
  })

  it('keep the valid initial credentials when the accounts cannot be written', async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder, environment: {} })).stop()
    const read = (name: string) => readFile(join(folder, name), 'utf8')
    const before = [await read(dataFiles.accounts), await read(dataFiles.initialCredentials)]
    for (const words of ['user passwd admin', 'user remove admin', 'client rotate default']) {
      const { code, stderr } = await runExecutable([...words.split(' '), '--data', folder], {
        input: 'another one',
        // Too little for the accounts, enough for the remaining initial credentials.
        through: ['prlimit', '--fsize=200'],
      })
      assert.equal(code, 1)
      assert.match(stderr, /^connbook: Cannot change the account: no room is left on the disk\n$/)
      assert.deepEqual([await read(dataFiles.accounts), await read(dataFiles.initialCredentials)], before)
    }
  })
})
