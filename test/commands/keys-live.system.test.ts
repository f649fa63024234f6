import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { keysDocument, readKeys } from '../../src/auth/keys.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { startExecutable } from '../support/executable.ts'
import { usedFolder } from '../support/service.ts'
import { assertRevokeEndsCredentials, assertRotateKeepsCredentials } from './key-changes.ts'
import { areGood, newCredentials } from './live-credentials.ts'

/** A server, and commands on its folder while it runs. */
async function startServer(t: TestContext) {
  const folder = await usedFolder(t)
  const startAnew = () => startExecutable(t, ['--data', folder])
  let server = await startAnew()
  let signal: 'SIGKILL' | 'SIGTERM' = 'SIGTERM'
  return {
    folder,
    url: () => server.url,
    async run(verb: string) {
      const { code, stdout, stderr } = await runCommand(['keys', verb, '--data', folder])
      assert.deepEqual([code, stderr], [0, ''])
      return stdout
    },
    async restart() {
      signal = signal === 'SIGKILL' ? 'SIGTERM' : 'SIGKILL'
      await server.stop(signal)
      server = await startAnew()
    },
  }
}

describe('the keys of a running server', { concurrency: 2 }, () => {
  it('are rotated, and every session and token stays valid, also after kill -9', async (t) =>
    assertRotateKeepsCredentials(await startServer(t)))

  it('are revoked with every session and token of every key, also after kill -9', async (t) =>
    assertRevokeEndsCredentials(await startServer(t)))

  it('made by an earlier version are rotated like any others', async (t) => {
    const { folder, url, restart, run } = await startServer(t)
    const document = keysDocument(dataPaths(folder))
    const credentials = await newCredentials(url())
    const [{ id, secret } = assert.fail()] = await readKeys(dataPaths(folder), true)
    await document.write([{ id, secret }])
    await restart()
    assert.deepEqual(await areGood(url(), credentials), [true, true])
    assert.match(await run('rotate'), new RegExp(`Key ${id} verifies until`))
    assert.deepEqual(await areGood(url(), credentials), [true, true])
    const { stdout } = await runCommand(['keys', 'list', '--data', folder])
    assert.match(stdout, new RegExp(`\n${id}  made by an earlier version  verifies until .+Z\n$`))
  })
})
