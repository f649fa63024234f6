import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { secondsOf } from '../../src/auth/key-rotation.ts'
import { readKeys, toSigningKey } from '../../src/auth/keys.ts'
import { signToken } from '../../src/auth/signed-token.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { holdClock } from '../support/held-clock.ts'
import { client, start, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { assertRevokeEndsCredentials, assertRotateKeepsCredentials } from './key-changes.ts'
import { isGood } from './live-credentials.ts'

/** A server, and commands on its folder while it runs or is stopped. */
async function startServer(t: TestContext, isRunning: boolean) {
  const folder = await usedFolder(t)
  const startAnew = () => start(t, { folder })
  let server = await startAnew()
  const restart = async () => {
    await server.stop()
    server = await startAnew()
  }
  return {
    folder,
    url: () => server.url,
    async run(verb: string) {
      if (!isRunning) await server.stop()
      const { code, stdout, stderr } = await runCommand(['keys', verb, '--data', folder])
      assert.deepEqual([code, stderr], [0, ''])
      if (!isRunning) await restart()
      return stdout
    },
    restart,
  }
}

for (const isRunning of [true, false]) {
  describe(`with the server ${isRunning ? 'running' : 'stopped'}`, () => {
    it('keys rotate signs with a new key, and every session and token stays valid', async (t) =>
      assertRotateKeepsCredentials(await startServer(t, isRunning)))

    it('keys revoke-all ends every session and token of every key', async (t) =>
      assertRevokeEndsCredentials(await startServer(t, isRunning)))
  })
}

describe('the keys of a running server', () => {
  it('that are superseded expire on time, whatever expiry a token claims', async (t) => {
    const folder = await temporaryFolder(t)
    const clock = holdClock(Date.now())
    const service = await start(t, { folder, clock })
    const [key = assert.fail()] = await readKeys(dataPaths(folder), true)
    // Anyone who holds the key can make such a token.
    const claims = { iss: 'connbook', sub: client.client_id, aud: 'api', iat: 0, jti: 'j', gen: 2 } as const
    const exp = secondsOf(clock.wall) + 1_000_000
    const forged = { Authorization: `Bearer ${signToken({ ...claims, exp }, toSigningKey(key))}` }
    assert.equal(await isGood(service.url, forged), true)
    const { code } = await runCommand(['keys', 'rotate', '--data', folder])
    assert.equal(code, 0)
    const [, old] = await readKeys(dataPaths(folder), true)
    clock.advance((old?.until ?? 0) * 1000 - clock.wall - 1)
    assert.equal(await isGood(service.url, forged), true)
    clock.advance(1)
    assert.equal(await isGood(service.url, forged), false)
    await service.stop()

    const again = await start(t, { folder, clock })
    assert.equal(await isGood(again.url, forged), false)
    assert.equal(await isGood(again.url, { Authorization: await again.bearer() }), true)
  })

  it('verify for as long as any session may live, also one issued under a longer --session-ttl', {}, async (t) => {
    const folder = await temporaryFolder(t)
    const clock = holdClock(Date.now())
    const first = await start(t, { folder, clock, flags: ['--session-ttl', '30d'] })
    const session = { Cookie: await first.cookie() }
    await first.stop()
    const second = await start(t, { folder, clock, flags: ['--session-ttl', '1h'] })
    assert.equal((await runCommand(['keys', 'rotate', '--data', folder])).code, 0)
    clock.advance(29 * 86_400_000)
    assert.equal(await isGood(second.url, session), true)
  })

  it('expire by the latest recorded time, even when the clock was set back since', async (t) => {
    const folder = await temporaryFolder(t)
    const ahead = holdClock(Date.now() + 10 * 86_400_000)
    const first = await start(t, { folder, clock: ahead })
    const session = { Cookie: await first.cookie() }
    await first.stop()
    assert.equal((await runCommand(['keys', 'rotate', '--data', folder])).code, 0)
    const second = await start(t, { folder, clock: holdClock(Date.now()) })
    assert.equal(await isGood(second.url, session), true)
  })
})
