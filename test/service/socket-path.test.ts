import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { lstat, mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { clearSocketPath } from '../../src/service/socket-path.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function listenAt(t: TestContext, path: string) {
  const server = createServer().listen(path)
  t.after(() => void server.close())
  await once(server, 'listening')
  return server
}

describe('clearSocketPath', () => {
  it('accepts a path where there is nothing', async (t) => {
    const folder = await temporaryFolder(t)
    for (const path of [join(folder, 'a'), join(folder, 'none', 'a')])
      assert.equal(await clearSocketPath(path), undefined)
  })

  it('removes a stale socket', async (t) => {
    const folder = await temporaryFolder(t)
    const server = await listenAt(t, join(folder, 'a'))
    // Under another name the socket file outlives its server, like that of a killed process.
    await rename(join(folder, 'a'), join(folder, 'b'))
    await new Promise((resolve) => server.close(resolve))
    assert.ok((await lstat(join(folder, 'b'))).isSocket())
    assert.equal(await clearSocketPath(join(folder, 'b')), undefined)
    await assert.rejects(lstat(join(folder, 'b')), { code: 'ENOENT' })
  })

  it('keeps a socket on which a process listens', async (t) => {
    const path = join(await temporaryFolder(t), 'a')
    await listenAt(t, path)
    assert.match((await clearSocketPath(path)) ?? '', /^another process \(pid \d+, node\) listens there/)
    assert.ok((await lstat(path)).isSocket())
  })

  it('keeps a file that is not a socket, also a link to a socket', async (t) => {
    const folder = await temporaryFolder(t)
    await listenAt(t, join(folder, 'socket'))
    const make = {
      file: (path: string) => writeFile(path, 'kept'),
      folder: (path: string) => mkdir(path),
      link: (path: string) => symlink(join(folder, 'socket'), path),
    }
    for (const [name, makeIt] of Object.entries(make)) {
      const path = join(folder, name)
      await makeIt(path)
      assert.match((await clearSocketPath(path)) ?? '', /^something else is there that is no socket/, name)
      await lstat(path)
    }
  })

  it('accepts a path of 107 bytes, but not of 108', async () => {
    assert.equal(await clearSocketPath(`/${'x'.repeat(106)}`), undefined)
    assert.match((await clearSocketPath(`/${'x'.repeat(107)}`)) ?? '', /^its path has 108 bytes/)
    assert.match((await clearSocketPath(`/${'ä'.repeat(54)}`)) ?? '', /^its path has 109 bytes/)
  })
})
