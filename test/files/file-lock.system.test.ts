import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { lockFile } from '../../src/files/file-lock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const module = new URL('../../src/files/file-lock.ts', import.meta.url).href

/** Arguments of a Node process that tries to lock a file, prints whether it succeeded, and then runs more code. */
function locker(path: string, then: string): string[] {
  const script = `import { lockFile } from ${JSON.stringify(module)}
    console.log(lockFile(${JSON.stringify(path)}) !== undefined)
    ${then}`
  return ['--input-type=module', '--eval', script]
}

describe('a file lock', () => {
  it('keeps other processes out until it is released, even after failed attempts', async (t) => {
    const path = join(await temporaryFolder(t), '.lock')
    const lock = lockFile(path)
    lockFile(path)
    const attempt = async () => (await promisify(execFile)(process.execPath, locker(path, ''))).stdout.trim()
    assert.equal(await attempt(), 'false')
    lock?.release()
    assert.equal(await attempt(), 'true')
  })

  it('is dropped by the kernel when its holder is killed', async (t) => {
    const path = join(await temporaryFolder(t), '.lock')
    const holder = spawn(process.execPath, locker(path, 'setInterval(() => {}, 1000)'), {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => holder.kill('SIGKILL'))
    const [said] = await once(holder.stdout, 'data')
    assert.equal(String(said).trim(), 'true')
    assert.equal(lockFile(path), undefined)
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    const lock = lockFile(path)
    assert.ok(lock)
    lock.release()
  })
})
