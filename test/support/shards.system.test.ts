import './node-version.ts'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { temporaryFolder } from './temporary-folder.ts'

const good = `import { it } from 'node:test'; it('holds', () => {})`
const bad = `import { it } from 'node:test'; it('does not hold', () => { throw new Error('as it must') })`
const broken = `import './is-not-there.mjs'`

describe('test files run in shards', () => {
  it('are all run, and their results added up', async (t) => {
    const { status, stdout } = await run(t, Array(6).fill(good))
    assert.equal(status, 0, stdout)
    assert.match(stdout, /^tests 6\npass 6\nfail 0\n/m)
  })

  it('fail together when a test in one of them fails', async (t) => {
    const { status, stdout } = await run(t, [good, good, good, good, bad])
    assert.equal(status, 1, stdout)
    assert.match(stdout, /^tests 5\npass 4\nfail 1\n/m)
    assert.match(stdout, /as it must/)
  })

  it('fail together when one of them ends its process', async (t) => {
    const { status, stdout } = await run(t, [good, 'process.exit(0)', good, good])
    assert.equal(status, 1, stdout)
    assert.match(stdout, /^process \d of 4 ended before its tests did, with exit code 0$/m)
  })

  it('fail together when one of them is killed, and say by which signal', async (t) => {
    const { status, stdout } = await run(t, [good, "process.kill(process.pid, 'SIGKILL')", good, good])
    assert.equal(status, 1, stdout)
    assert.match(stdout, /^process \d of 4 ended before its tests did, with SIGKILL$/m)
  })

  it('fail when there are none', async (t) => {
    assert.equal((await run(t, [])).status, 1)
  })

  it('fail together when one of them cannot be loaded', async (t) => {
    assert.equal((await run(t, [good, broken, good, good])).status, 1)
  })
})

async function run(t: TestContext, files: readonly string[]) {
  const folder = await temporaryFolder(t)
  await Promise.all(files.map((text, i) => writeFile(join(folder, `${i}.test.mjs`), text)))
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const script = join(import.meta.dirname, 'shards.ts')
  return spawnSync(process.execPath, [script, join(folder, '*.test.mjs')], { encoding: 'utf8', env })
}
