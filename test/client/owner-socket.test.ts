import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, lchown, mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { socketEndpoint } from '../../src/client/endpoint.ts'
import { findOwnerSocket } from '../../src/client/owner-socket.ts'
import { dataPaths, ownerSocketPath } from '../../src/files/data-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const OTHER = 65_534
const own = process.getuid?.() ?? assert.fail('this system has no accounts')
const onlyRoot = own === 0 ? false : 'only root can give files away'

/** A private folder with a socket on which a server listens. */
async function setUp(t: TestContext) {
  const folder = await temporaryFolder(t)
  await chmod(folder, 0o700)
  const path = ownerSocketPath(folder)
  const server = createServer().listen(path)
  t.after(() => void server.close())
  await once(server, 'listening')
  return { folder, path }
}

async function reasonOf(folder: string, { uid = own } = {}) {
  const found = await findOwnerSocket(dataPaths(folder), uid)
  return found.endpoint === undefined ? found.reason : assert.fail(`${found.endpoint.name} is used`)
}

describe('findOwnerSocket', () => {
  it('finds the socket in a private folder of this account', async (t) => {
    const { folder, path } = await setUp(t)
    assert.deepEqual(await findOwnerSocket(dataPaths(folder)), { endpoint: socketEndpoint(path) })
  })

  it('finds nothing where there is no socket, no folder, or no account', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'file'), '')
    for (const path of [folder, join(folder, 'none'), join(folder, 'file')])
      assert.equal(await reasonOf(path), undefined)
  })

  it('does not use a link, or a plain file', async (t) => {
    const { folder, path } = await setUp(t)
    await rename(path, join(folder, 'elsewhere'))
    await symlink('elsewhere', path)
    assert.equal(await reasonOf(folder), '.control is not used: it is not a socket')
    await rename(join(folder, 'elsewhere'), join(folder, 'other'))
    await writeFile(join(folder, 'plain'), '')
    await rename(join(folder, 'plain'), path)
    assert.equal(await reasonOf(folder), '.control is not used: it is not a socket')
  })

  it('does not use a folder that others can read, write or search', async (t) => {
    const { folder } = await setUp(t)
    for (const mode of [0o755, 0o750, 0o701, 0o770]) {
      await chmod(folder, mode)
      assert.match(
        (await reasonOf(folder)) ?? '',
        /^\.control is not used: its folder is not private \(owner/,
      )
    }
  })

  it('does not use a folder of another account', async (t) => {
    const { folder } = await setUp(t)
    const found = await reasonOf(folder, { uid: own + 1 })
    assert.match(found ?? '', /its folder belongs to another account \(owner \d+, mode 0700\)/)
  })

  it('does not use a socket of another account', { skip: onlyRoot }, async (t) => {
    const { folder, path } = await setUp(t)
    await lchown(path, OTHER, OTHER)
    const found = await reasonOf(folder)
    assert.match(found ?? '', /it does not belong to the owner of its folder \(owner 65534, mode/)
  })

  it('uses for root the folder of whatever account', { skip: onlyRoot }, async (t) => {
    const { folder, path } = await setUp(t)
    await lchown(path, OTHER, OTHER)
    await lchown(folder, OTHER, OTHER)
    const { endpoint } = await findOwnerSocket(dataPaths(folder), 0)
    assert.equal(endpoint?.name, `unix:${path}`)
  })

  it('does not use a path that the system would cut', async (t) => {
    const { folder, path } = await setUp(t)
    const long = join(folder, 'x'.repeat(100))
    await mkdir(long, { mode: 0o700 })
    await rename(path, ownerSocketPath(long))
    assert.match((await reasonOf(long)) ?? '', /its path has \d+ bytes, and the system takes 107/)
  })
})
