import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { UsageError } from '../../src/errors.ts'
import { findSocketPath, takeActivatedSocket } from '../../src/service/listen.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const LISTEN_PID = String(process.pid)

describe('takeActivatedSocket', () => {
  it('returns the first descriptor after standard error, and removes the variables', () => {
    const environment = { LISTEN_PID, LISTEN_FDS: '1', LISTEN_FDNAMES: 'a', LISTEN_PIDFDID: '2', HOME: '/' }
    assert.equal(takeActivatedSocket(environment), 3)
    assert.deepEqual(environment, { HOME: '/' })
    assert.equal(takeActivatedSocket(environment), undefined)
  })

  const none: Record<string, NodeJS.ProcessEnv> = {
    'no variables': {},
    'those of another process': { LISTEN_PID: String(process.pid + 1), LISTEN_FDS: '1' },
    'no number': { LISTEN_PID },
    'the number 0': { LISTEN_PID, LISTEN_FDS: '0' },
  }
  for (const [what, environment] of Object.entries(none)) {
    it(`returns nothing for ${what}, and removes the variables`, () => {
      assert.equal(takeActivatedSocket(environment), undefined)
      assert.deepEqual(environment, {})
    })
  }

  it('refuses more than one socket', () => {
    const environment = { LISTEN_PID, LISTEN_FDS: '2' }
    assert.throws(
      () => takeActivatedSocket(environment),
      (error) => {
        return error instanceof UsageError && /the 2 sockets/.test(error.message)
      },
    )
  })
})

describe('findSocketPath', { skip: process.platform !== 'linux' && 'only Linux tells' }, () => {
  it('returns the path of a listening Unix socket, including blanks', async (t) => {
    const path = join(await temporaryFolder(t), 'a socket')
    const server = createServer().listen(path)
    t.after(() => void server.close())
    await once(server, 'listening')
    const { fd } = (server as unknown as { _handle: { fd: number } })._handle
    assert.equal(findSocketPath(fd), path)
  })

  it('returns nothing for a descriptor that is not an open Unix socket', () => {
    for (const fd of [0, 999_999]) assert.equal(findSocketPath(fd), undefined)
  })
})
