import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { copyFile, link, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { executable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

describe('the executable', () => {
  it('serves from a root that holds nothing but the libraries it names', async (t) => {
    const reason = await whyNot()
    if (reason !== undefined) return t.skip(reason)
    const root = await temporaryFolder(t)
    const { stdout: libraries } = await run('ldd', [executable])
    for (const library of new Set(libraries.match(/\/\S+/g))) {
      await mkdir(join(root, dirname(library)), { recursive: true })
      await copyFile(library, join(root, library))
    }
    await link(executable, join(root, 'connbook')).catch(() => copyFile(executable, join(root, 'connbook')))

    const args = [
      '--user',
      '--map-root-user',
      'chroot',
      root,
      '/connbook',
      '--host',
      '127.0.0.1',
      '--port',
      '0',
    ]
    const child = spawn('unshare', args, {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    t.after(() => child.kill('SIGKILL'))
    let url: string | undefined
    for await (const line of createInterface(child.stderr)) {
      url = /"url":"([^"]+)"/.exec(line)?.[1]
      if (url !== undefined) break
    }
    assert.ok(url, 'it did not start')
    assert.equal((await createClient(url)('GET', '/healthz')).status, 200)
  })
})

async function whyNot(): Promise<string | undefined> {
  try {
    await run('unshare', ['--user', '--map-root-user', 'true'])
    return undefined
  } catch {
    return 'this machine allows no user namespaces, or has no unshare (Debian: util-linux)'
  }
}
