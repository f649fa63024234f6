import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { callEndpoint } from '../../../src/client/call.ts'
import { ownerCredential } from '../../../src/client/credential.ts'
import type { Call } from '../../../src/client/messages.ts'
import { OpenedBooks } from '../../../src/command-line/opened-books.ts'
import { folderEndpoint } from '../../../src/commands/remote/folder-endpoint.ts'
import { dataFiles, dataPaths, ownerSocketPath } from '../../../src/files/data-folder.ts'
import { openDataFolder } from '../../../src/files/owned-folder.ts'
import { eventually } from '../../support/eventually.ts'
import { stopClock } from '../../support/hurried-clock.ts'
import { start, usedFolder } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const list: Call = { method: 'GET', path: '/configurations/' }
const add: Call = {
  ...{ method: 'POST', path: '/configurations/' },
  body: [Buffer.from(JSON.stringify({ name: 'web1', hostname: 'h', port: 22, username: 'u' }))],
}

/** Calls a folder as a command does. @param use As in `folderEndpoint`. */
function open(t: TestContext, path: string, use: Parameters<typeof folderEndpoint>[1] = {}) {
  const opened = new OpenedBooks()
  t.after(() => opened.letGo())
  const screen = { write() {}, draw() {} }
  const endpoint = folderEndpoint(dataPaths(path), use, { environment: {}, screen, opened })
  return async (call: Call) => {
    const headers = await ownerCredential({ by: 'me', command: 'test' }).headers(endpoint)
    const { status } = await callEndpoint(endpoint, {
      ...call,
      headers: { ...headers, 'Content-Type': 'application/json' },
    })
    return status
  }
}

/** A socket in a folder, on which each caller is treated so. */
async function listenIn(t: TestContext, folder: string, treat: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    treat(socket)
  }).listen(ownerSocketPath(folder))
  t.after(() => void server.close())
  await once(server, 'listening')
  return server
}

/** What ends a caller's connection once the call has come, as the end of the process does. */
const end = (socket: Socket) => socket.once('data', () => socket.destroy())

describe('the book of a folder', () => {
  it('is that of the server which has it, and else of this process', async (t) => {
    const folder = await usedFolder(t)
    const service = await start(t, { folder, environment: {} })
    const call = open(t, folder)
    assert.equal(await call(add), 200)
    await service.stop()
    assert.equal(await call(list), 200)
    assert.equal(await call(add), 409)
  })

  const others = {
    'a plain file': (path: string) => writeFile(path, ''),
    'a folder': (path: string) => mkdir(path),
  }
  for (const [what, make] of Object.entries(others)) {
    it(`is opened although ${what} has the name of its socket; nobody is waited for beside a server`, async (t) => {
      const folder = await usedFolder(t)
      await make(ownerSocketPath(folder))
      const call = open(t, folder)
      assert.equal(await call(add), 200)
      const owner = await openDataFolder(folder)
      t.after(() => owner.release())
      stopClock(t)
      await assert.rejects(call(list), {
        code: 'folder_in_use',
        message:
          /another process has it .+\n\.control is not used: it is not a socket\nif a server has it, /s,
      })
    })
  }

  it('is waited for while another command has it', async (t) => {
    const folder = await usedFolder(t)
    const owner = await openDataFolder(folder)
    stopClock(t)
    const called = open(t, folder)(list)
    setTimeout(() => owner.release(), 50)
    assert.equal(await called, 200)
  })

  it('is read again when its server dies before it answers', async (t) => {
    const folder = await usedFolder(t)
    const server = await listenIn(t, folder, (socket) => {
      end(socket)
      server.close()
    })
    assert.equal(await open(t, folder)(list), 200)
  })

  it('is not changed again when its server dies before it answers: it may have made the change', async (t) => {
    const folder = await usedFolder(t)
    const server = await listenIn(t, folder, (socket) => {
      end(socket)
      server.close()
    })
    const call = open(t, folder)
    await assert.rejects(call(add), { code: 'no_answer' })
    assert.equal(await call(add), 200)
  })

  it('is not opened for a command that needs a server', async (t) => {
    const folder = await usedFolder(t)
    await assert.rejects(open(t, folder, { isServerOnly: true })(list), {
      code: 'unreachable',
      message: /no server has made its socket there; start one, or name another with --server$/,
    })
  })

  it('is made by the first change alone, where that is allowed', async (t) => {
    const folder = await temporaryFolder(t)
    await assert.rejects(open(t, folder)(add), { code: 'folder_refused' })
    await assert.rejects(open(t, folder, { isMadeIfMissing: true })(list), { code: 'folder_refused' })
    const making = open(t, folder, { isMadeIfMissing: true })
    assert.equal(await making({ ...add, body: [Buffer.from('{}')] }), 400)
    await eventually('nothing is left of it', async () => {
      return (await readdir(folder)).every((name) => name === dataFiles.lock)
    })
    assert.equal(await making(add), 200)
    assert.equal(await open(t, folder)(list), 200)
  })
})
