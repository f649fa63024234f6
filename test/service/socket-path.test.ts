import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { lstat, mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { createServer, type ListenOptions } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { clearSocketPath, describePathOwner, describePortOwner } from '../../src/service/socket-path.ts'
import { freePort } from '../support/free-port.ts'
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

const skip = existsSync('/proc/net/tcp') ? false : 'there is no /proc/net/tcp'

const thisProcess = `another process (pid ${process.pid}, node)`

async function listenOn(t: TestContext, place: ListenOptions): Promise<void> {
  const server = createServer().listen(place)
  t.after(() => server.close())
  await once(server, 'listening')
}

describe('the process that listens', { skip }, () => {
  it('on an IPv4 address is named to who wants it, its name or every address', async (t) => {
    // Any free port may be one on which others listen at another address.
    const port = await freePort()
    await listenOn(t, { host: '127.0.0.2', port })
    for (const host of ['127.0.0.2', undefined, '0.0.0.0', '::', 'localhost'])
      assert.equal(describePortOwner(port, host), thisProcess)
    for (const host of ['127.0.0.1', '::1', 'fe80::1%lo'])
      assert.equal(describePortOwner(port, host), 'another process')
  })

  it('on an IPv6 address is named to who wants it', async (t) => {
    const port = await freePort()
    await listenOn(t, { host: '::1', port })
    for (const host of ['::1', '0:0::1', undefined]) assert.equal(describePortOwner(port, host), thisProcess)
    assert.equal(describePortOwner(port, '::2'), 'another process')
  })

  it('on every address is named to anybody', async (t) => {
    const port = await freePort()
    await listenOn(t, { port })
    for (const host of ['127.0.0.1', '::1', undefined])
      assert.equal(describePortOwner(port, host), thisProcess)
  })

  it('on a Unix socket is named by its path', async (t) => {
    const path = join(await temporaryFolder(t), 'http')
    assert.equal(describePathOwner(path), 'another process')
    await listenOn(t, { path })
    assert.equal(describePathOwner(path), thisProcess)
  })
})
