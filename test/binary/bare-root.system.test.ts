import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, link, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { missing } from '../support/debian.ts'
import { executable, startExecutable } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const namespaces = ['--user', '--map-root-user', '--mount', '--net']

describe('the executable', () => {
  const skip = missing('ip')
  it('serves without a network, from a root that holds only the libraries it needs', {
    skip,
  }, async (t) => {
    const reason = await whyNot()
    if (reason !== undefined) return t.skip(reason)
    const root = await temporaryFolder(t)
    const { stdout: libraries } = await run('ldd', [executable])
    for (const library of new Set(libraries.match(/\/\S+/g))) {
      await mkdir(join(root, dirname(library)), { recursive: true })
      await copyFile(library, join(root, library))
    }
    await link(executable, join(root, 'connbook')).catch(() => copyFile(executable, join(root, 'connbook')))

    // Its loopback interface is the only network.
    const inside = 'ip link set lo up && exec chroot "$0" /connbook "$@"'
    const server = await startExecutable(t, ['--data', '/data'], {
      through: ['unshare', ...namespaces, 'sh', '-c', inside, root],
      program: [],
      place: [],
    })
    const enter = [
      ...['--user', '--mount', '--net', '--preserve-credentials'],
      ...['--target', String(server.process.pid)],
    ]
    const check = (...words: string[]) =>
      run('nsenter', [...enter, 'chroot', root, '/connbook', 'healthcheck', ...words])
    assert.equal((await check()).stdout, 'http://127.0.0.1:8080/readyz answers 200\n')
    await assert.rejects(check('http://192.0.2.1'), /No answer from http:.+ENETUNREACH/)
  })
})

async function whyNot(): Promise<string | undefined> {
  try {
    await run('unshare', [...namespaces, 'true'])
    return undefined
  } catch {
    return 'this machine allows no user namespaces, or has no unshare (Debian: util-linux)'
  }
}
