import './node-version.ts'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { temporaryFolder } from './temporary-folder.ts'

const files = {
  'good.test.mjs': `import { it } from 'node:test'; it('gets ' + process.env.CONNBOOK_TEST_SEED, () => {})`,
  'bad.test.mjs': `import { it } from 'node:test'; it('does not hold', () => { throw new Error('as it must') })`,
}

/** Runs these files, or those with one of the words in their path. @param seed A new one without it. */
async function run(t: TestContext, words: readonly string[] = [], seed?: string) {
  const folder = await temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const { NODE_TEST_CONTEXT: _, CONNBOOK_TEST_SEED: __, ...inherited } = process.env
  const env = { ...inherited, ...(seed === undefined ? {} : { CONNBOOK_TEST_SEED: seed }) }
  const script = join(import.meta.dirname, 'faults.ts')
  return spawnSync(process.execPath, [script, join(folder, '*.test.mjs'), ...words], {
    encoding: 'utf8',
    env,
  })
}

describe('test files run one at a time', () => {
  it('are all run, whichever fail, and say how to run them again', async (t) => {
    const { status, stdout } = await run(t, [], '7')
    assert.equal(status, 1, stdout)
    assert.match(stdout, /\btests 2\n/)
    assert.match(stdout, /\bpass 1\n/)
    assert.match(stdout, /^Some failed, after .+; again: CONNBOOK_TEST_SEED=7 npm run test:faults$/m)
  })

  it('may be chosen by words of their paths', async (t) => {
    const { status, stdout } = await run(t, ['good.test', 'other.test'])
    assert.equal(status, 0, stdout)
    assert.match(stdout, /\btests 1\n/)
    assert.match(stdout, /^All held, .+ npm run test:faults -- good\.test other\.test$/m)
  })

  it('get a new seed in each run', async (t) => {
    const seeds: string[] = []
    for (const { stdout } of [await run(t, ['good.test']), await run(t, ['good.test'])]) {
      const [, seed = ''] = /^Running 1 files, seed (\d+):$/m.exec(stdout) ?? []
      assert.match(stdout, new RegExp(`^✔ gets ${seed} `, 'm'))
      seeds.push(seed)
    }
    assert.notEqual(seeds[0], seeds[1])
  })

  it('are refused when no path has such a word', async (t) => {
    const { status, stdout, stderr } = await run(t, ['nothing', 'else'])
    assert.deepEqual([status, stdout], [2, ''])
    assert.match(stderr, /^No file of \S+ has "nothing" or "else" in its path\n$/)
  })
})
