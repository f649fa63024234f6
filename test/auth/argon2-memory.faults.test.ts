import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

/** Small things pile up behind the memory of a hash only after a hundred, if nothing keeps them from it. */
const HASHES = 400
/** The memory of one hash takes 19 MiB, the thread itself the rest. */
const MOST_MIB_MAX = 34
const LEFT_MIB_MAX = 12

describe('the memory for password hashes', { skip: process.platform !== 'linux' && 'needs Linux' }, () => {
  it('is that of one hash, and is given back once the thread has ended', async (t) => {
    const program = join(import.meta.dirname, 'hashing-process.ts')
    const { stdout } = await promisify(execFile)(process.execPath, [program, `${HASHES}`, `${LEFT_MIB_MAX}`])
    t.diagnostic(`${stdout.trim()} MiB more at most`)
    assert.ok(Number(stdout) < MOST_MIB_MAX)
  })
})
