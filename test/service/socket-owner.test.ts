import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type ListenOptions } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { describePathOwner, describePortOwner } from '../../src/service/socket-owner.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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
