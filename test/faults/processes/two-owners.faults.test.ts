import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { getToken, logIn } from '../../support/api.ts'
import { runCommand } from '../../support/command.ts'
import { eventually } from '../../support/eventually.ts'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import { createClient } from '../../support/http-client.ts'
import { admin, client, firstStartEnvironment, usedFolder } from '../../support/service.ts'
import { draft } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startBusy } from './busy-server.ts'

const AT_ONCE = 20
const COMMANDS = 20

describe('servers that start at the same instant', () => {
  for (const what of ['a folder that is still to be made', 'a folder that has been in use']) {
    it(`on ${what}: one serves, the others end with exit code 75`, async (t) => {
      const folder = join(await temporaryFolder(t), 'data')
      const environment = firstStartEnvironment
      if (what.includes('in use')) await cp(await usedFolder(t), folder, { recursive: true })
      const attempts = await Promise.allSettled(
        Array.from({ length: AT_ONCE }, () => startExecutable(t, ['--data', folder], { environment })),
      )
      const servers = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
      const refusals = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason] : []))
      for (const refusal of refusals)
        assert.match(
          String(refusal),
          /exit 75: connbook: [^\n]+ another process has it \([^)\n]+\); [^\n]+\n$/,
        )
      assert.equal(servers.length, 1)

      const [server] = servers
      const url = server?.url ?? ''
      const ask = createClient(url, await getToken(url, client))
      assert.equal((await ask('POST', '/configurations/', { body: draft('n') })).status, 200)
      assert.equal(await server?.stop(), 0)
    })
  }
})

describe('account commands while a server runs', () => {
  it('all succeed, and lose nothing, however many run at once', async (t) => {
    const { folder, addMore, killAndCheck } = await startBusy(t)
    await addMore()
    const ids = Array.from({ length: COMMANDS }, (_, i) => `client-${i}`)
    const finished = await Promise.all(
      ids.map(async (id) => ({ id, ...(await runExecutable(['client', 'add', id, '--data', folder])) })),
    )
    for (const { id, code, stderr } of finished)
      assert.deepEqual([code, stderr], [0, `Added client "${id}" in ${folder}\n`])
    const { stdout } = await runCommand(['client', 'list', '--data', folder])
    const listed = stdout.trim().split('\n')
    assert.deepEqual(listed.toSorted(), [client.client_id, ...ids].toSorted())
    await addMore()
    await killAndCheck()
  })

  it('keep all changes when they change different accounts at once', async (t) => {
    const folder = join(await temporaryFolder(t), 'data')
    await cp(await usedFolder(t), folder, { recursive: true })
    const server = await startExecutable(t, ['--data', folder])
    const session = await logIn(server.url, admin)
    const run = async (words: string, input = '') =>
      (await runExecutable([...words.split(' '), '--data', folder], { input })).code
    const codes = await Promise.all([
      run('user passwd admin', 'brand new'),
      run('client rotate script'),
      run('user add eve', 'a secret'),
      run('client add ci'),
    ])
    assert.deepEqual(codes, [0, 0, 0, 0])
    let attempts = 0
    // Each from another address: ten failures from one would throttle the right password, too.
    const status = async (path: string, body: unknown) => {
      const localAddress = `127.0.0.${2 + (attempts++ % 250)}`
      return (await createClient(server.url, {}, { localAddress })('POST', path, { body })).status
    }
    for (const [username, password] of [
      ['eve', 'a secret'],
      ['admin', 'brand new'],
    ]) {
      await eventually(`the password of ${username} is taken up`, async () => {
        return (await status('/login', { username, password })) === 200
      })
    }
    assert.notEqual(await status('/v1/auth/token', client), 200)
    assert.equal((await createClient(server.url, session)('GET', '/configurations/')).status, 403)
    const { stdout } = await runCommand(['client', 'list', '--data', folder])
    assert.deepEqual(stdout.trim().split('\n').toSorted(), ['ci', 'script'])
  })
})
