import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { keysDocument, readKeys } from '../../src/auth/keys.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { getToken } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { startExecutable } from '../support/executable.ts'
import type { Headers } from '../support/http-client.ts'
import { client, usedFolder } from '../support/service.ts'
import { areGood, newCredentials } from './live-credentials.ts'

/** How often an event was logged. */
const count = (text: string, part: string) => text.split(part).length - 1

/** The id of the key that signed a session or token. */
function keyOf(headers: Headers): string {
  const [header = ''] = Object.values(headers)
    .join()
    .replace(/^.*[= ]/, '')
    .split('.')
  return JSON.parse(Buffer.from(header, 'base64url').toString()).kid
}

/** A server, and commands on its folder while it runs or is stopped. */
async function startServer(t: TestContext, isRunning = true) {
  const folder = await usedFolder(t)
  const startAnew = () => startExecutable(t, ['--data', folder])
  let server = await startAnew()
  return {
    folder,
    url: () => server.url,
    stderr: () => server.stderr(),
    areGood: (...all: Headers[]) => areGood(server.url, all),
    newCredentials: () => newCredentials(server.url),
    signsWith: async () => keyOf(await getToken(server.url, client)),
    /** Runs `keys …`, and waits until a server uses the result. */
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

for (const isRunning of [true, false]) {
  describe(`with the server ${isRunning ? 'running' : 'stopped'}`, { concurrency: 2 }, () => {
    it('keys rotate signs with a new key, and every session and token stays valid', async (t) => {
      const { folder, run, areGood, newCredentials, signsWith, restart } = await startServer(t, isRunning)
      const all: Headers[] = [...(await newCredentials())]
      const signed = [await signsWith()]
      // Twice, so that the first key is superseded by two others.
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
        stdout.endsWith('Every session and token ends: a running server applies this within a second\n'),
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
  it('made by an earlier version are rotated like any others', async (t) => {
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
