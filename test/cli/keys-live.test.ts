import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { secondsOf } from '../../src/auth/key-rotation.ts'
import { keysDocument, newKeysCommand, readKeys, toSigningKey } from '../../src/auth/keys.ts'
import { signToken } from '../../src/auth/signed-token.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { CREDENTIALS_POLL_MS } from '../../src/limits.ts'
import { getToken, logIn } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { startExecutable } from '../support/executable.ts'
import { holdClock } from '../support/held-clock.ts'
import { createClient, type Headers } from '../support/http-client.ts'
import { admin, client, start, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** How often something has been said. */
const count = (text: string, part: string) => text.split(part).length - 1

/** The id of the key that signed a session or token. */
function keyOf(headers: Headers): string {
  const [header = ''] = Object.values(headers)
    .join()
    .replace(/^.*[= ]/, '')
    .split('.')
  return JSON.parse(Buffer.from(header, 'base64url').toString()).kid
}

async function isGood(url: string, headers: Headers): Promise<boolean> {
  const { status } = await createClient(url, headers)('GET', '/configurations/')
  assert.ok([200, 403].includes(status), String(status))
  return status === 200
}

/** A server, and commands on its folder while it runs or while it does not. */
async function startServer(t: TestContext, isRunning = true) {
  const folder = await usedFolder(t)
  const startAnew = () => startExecutable(t, ['--data', folder])
  let server = await startAnew()
  return {
    folder,
    url: () => server.url,
    stderr: () => server.stderr(),
    areGood: (...all: Headers[]) => Promise.all(all.map((headers) => isGood(server.url, headers))),
    newCredentials: async () => [await logIn(server.url, admin), await getToken(server.url, client)] as const,
    signsWith: async () => keyOf(await getToken(server.url, client)),
    /** Runs `keys …`, and sees to it that a server goes by the outcome. */
    async run(verb: string): Promise<string> {
      const before = count(server.stderr(), '"event":"keys_taken_up"')
      if (!isRunning) assert.equal(await server.stop(), 0)
      const { code, stdout, stderr } = await runCommand(['keys', verb, '--data', folder])
      assert.deepEqual([code, stderr], [0, ''])
      if (!isRunning) server = await startAnew()
      else
        await eventually(
          'the change is taken up',
          () => count(server.stderr(), '"event":"keys_taken_up"') > before,
        )
      return stdout
    },
    async restart(signal: NodeJS.Signals) {
      await server.stop(signal)
      server = await startAnew()
    },
  }
}

it('a running server looks at the keys at least once a second', () => assert.ok(CREDENTIALS_POLL_MS < 1000))

for (const isRunning of [true, false]) {
  describe(`with the server ${isRunning ? 'running' : 'stopped'}`, { concurrency: 2 }, () => {
    it('keys rotate signs with a new key and leaves every session and token good', async (t) => {
      const { folder, run, areGood, newCredentials, signsWith, restart } = await startServer(t, isRunning)
      const all: Headers[] = [...(await newCredentials())]
      const signed = [await signsWith()]
      // Two, so that one key has been superseded twice over.
      for (let i = 0; i < 2; i += 1) {
        assert.ok((await areGood(...all)).every(Boolean))
        const stdout = await run('rotate')
        const key = await signsWith()
        assert.match(
          stdout,
          new RegExp(
            `^Rotated the keys in ${folder}\nKey ${key} signs from now on\nKey ${signed[i]} verifies until \\d{4}-.+Z, when .+\n$`,
          ),
        )
        assert.ok(!signed.includes(key))
        signed.push(key)
        all.push(...(await newCredentials()))
        assert.ok((await areGood(...all)).every(Boolean))
      }
      for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
        await restart(signal)
        assert.ok((await areGood(...all)).every(Boolean), `after ${signal}`)
        assert.equal(await signsWith(), signed.at(-1))
      }
    })

    it('keys revoke-all ends every session and token of every key', async (t) => {
      const { folder, run, areGood, newCredentials, restart } = await startServer(t, isRunning)
      const all: Headers[] = [...(await newCredentials())]
      await run('rotate')
      all.push(...(await newCredentials()))
      const stdout = await run('revoke-all')
      assert.ok(stdout.startsWith(`Replaced the keys in ${folder}\n`))
      assert.ok(
        stdout.endsWith('Every session and token ends: a running server takes this up within a second\n'),
      )
      assert.ok(!(await areGood(...all)).some(Boolean))
      const anew = await newCredentials()
      assert.deepEqual(await areGood(...anew), [true, true])
      await restart('SIGKILL')
      assert.ok(!(await areGood(...all)).some(Boolean))
      assert.deepEqual(await areGood(...anew), [true, true])
    })
  })
}

describe('the keys of a running server', { concurrency: 2 }, () => {
  it('survive a file that is damaged, gone or without a key, until that is made good', async (t) => {
    const { folder, areGood, newCredentials, run, stderr } = await startServer(t)
    const credentials = await newCredentials()
    const path = join(folder, dataFiles.keys)
    const good = await readFile(path, 'utf8')
    await writeFile(path, good.slice(0, -20))
    await eventually('it is told', () => stderr().includes('"event":"keys_not_taken_up"'))
    assert.deepEqual(await areGood(...credentials), [true, true])
    execFileSync('sh', ['-c', newKeysCommand(dataPaths(folder))])
    await eventually('it is told', () => stderr().includes('it holds no key'))
    assert.deepEqual(await areGood(...credentials), [true, true])
    await run('revoke-all')
    assert.deepEqual(await areGood(...credentials), [false, false])
  })

  it('that are superseded end at their time, whatever a token says', async (t) => {
    const folder = await temporaryFolder(t)
    const clock = holdClock(Date.now())
    const service = await start(t, { folder, clock })
    const [key = assert.fail()] = await readKeys(dataPaths(folder), true)
    // As whoever has got hold of the key can make them.
    const claims = { iss: 'connbook', sub: client.client_id, aud: 'api', iat: 0, jti: 'j', gen: 2 } as const
    const exp = secondsOf(clock.wall) + 1_000_000
    const forged = { Authorization: `Bearer ${signToken({ ...claims, exp }, toSigningKey(key))}` }
    assert.equal(await isGood(service.url, forged), true)
    const { code } = await runCommand(['keys', 'rotate', '--data', folder])
    assert.equal(code, 0)
    await eventually('the change is taken up', () => service.log.events.includes('keys_taken_up'))
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

  it('verify for as long as a session of the server may live, however long that was set before', async (t) => {
    const folder = await temporaryFolder(t)
    const clock = holdClock(Date.now())
    const first = await start(t, { folder, clock, flags: ['--session-ttl', '30d'] })
    const session = { Cookie: await first.cookie() }
    await first.stop()
    const second = await start(t, { folder, clock, flags: ['--session-ttl', '1h'] })
    assert.equal((await runCommand(['keys', 'rotate', '--data', folder])).code, 0)
    await eventually('the change is taken up', () => second.log.events.includes('keys_taken_up'))
    clock.advance(29 * 86_400_000)
    assert.equal(await isGood(second.url, session), true)
  })

  it('go by what a server has remembered when the clock has been set back since', async (t) => {
    const folder = await temporaryFolder(t)
    const ahead = holdClock(Date.now() + 10 * 86_400_000)
    const first = await start(t, { folder, clock: ahead })
    const session = { Cookie: await first.cookie() }
    await first.stop()
    assert.equal((await runCommand(['keys', 'rotate', '--data', folder])).code, 0)
    const second = await start(t, { folder, clock: holdClock(Date.now()) })
    assert.equal(await isGood(second.url, session), true)
  })

  it('that an earlier version made are rotated like any other', async (t) => {
    const { folder, areGood, newCredentials, restart, run } = await startServer(t)
    const document = keysDocument(dataPaths(folder))
    const credentials = await newCredentials()
    const [{ id, secret } = assert.fail()] = await readKeys(dataPaths(folder), true)
    await document.write([{ id, secret }])
    await restart('SIGKILL')
    assert.deepEqual(await areGood(...credentials), [true, true])
    assert.match(await run('rotate'), new RegExp(`Key ${id} verifies until`))
    assert.deepEqual(await areGood(...credentials), [true, true])
    const { stdout } = await runCommand(['keys', 'list', '--data', folder])
    assert.match(stdout, new RegExp(`\n${id}  made by an earlier version  verifies until .+Z\n$`))
  })
})
