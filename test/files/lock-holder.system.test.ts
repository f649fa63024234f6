import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { lockFile } from '../../src/files/file-lock.ts'
import { describeLockHolder } from '../../src/files/processes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const module = new URL('../../src/files/file-lock.ts', import.meta.url).href
const skip = existsSync('/proc/locks') ? false : 'there is no /proc/locks'

describe('the holder of a lock', () => {
  it('is named by pid and program', { skip }, async (t) => {
    const path = join(await temporaryFolder(t), '.lock')
    const script = `import { lockFile } from ${JSON.stringify(module)}
      lockFile(${JSON.stringify(path)})
      console.log('locked')
      setInterval(() => {}, 1000)`
    const holder = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => holder.kill('SIGKILL'))
    await once(holder.stdout, 'data')
    assert.equal(lockFile(path), undefined)
    assert.equal(describeLockHolder(path), `pid ${holder.pid}, node`)
  })
})
