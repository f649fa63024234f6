import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { ownerSocketPath } from '../../src/files/data-folder.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { readBackup } from '../../src/state/backup-document.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

describe('what only the owner may call, with curl', () => {
  it('answers on the socket, and is not there over TCP', async (t) => {
    const service = await start(t)
    const socket = ['--unix-socket', ownerSocketPath(service.folder.path)]
    const statusOf = async (...args: string[]) =>
      (await run('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', ...args])).stdout
    const Cookie = `Cookie: ${await service.cookie()}`
    for (const [method, path] of [
      ['GET', '/v1/keys'],
      ['POST', '/v1/keys/rotate'],
      ['GET', '/v1/backup'],
    ] as const) {
      assert.equal(await statusOf('-X', method, ...socket, `http://localhost${path}`), '200', path)
      assert.equal(await statusOf('-X', method, '-H', Cookie, service.url + path), '404', path)
    }
    const file = join(await temporaryFolder(t), 'backup.json')
    await run('curl', ['-sS', ...socket, '-o', file, 'http://localhost/v1/backup'])
    assert.equal((await readBackup(file, realFileSystem)).accounts.users[0]?.name, 'admin')
  })
})
