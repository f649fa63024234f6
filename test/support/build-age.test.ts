import './node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { staleBuild } from './build-age.ts'
import { temporaryFolder } from './temporary-folder.ts'

const sources = [
  'src/main.ts',
  'src/commands/serve.ts',
  'build.mjs',
  '.build/strip-symbols.mjs',
  'package.json',
  'tsconfig.json',
]
const BUILT_AT = 1_800_000_000

/** A checkout in which everything is older than the executable. */
async function makeCheckout(t: TestContext) {
  const root = await temporaryFolder(t)
  const write = async (path: string, seconds: number) => {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), '')
    await utimes(join(root, path), seconds, seconds)
  }
  await write('dist/connbook', BUILT_AT)
  for (const path of sources) await write(path, BUILT_AT - 10)
  for (const path of ['src', 'src/commands']) await utimes(join(root, path), BUILT_AT - 10, BUILT_AT - 10)
  return { root, write }
}

describe('the executable', () => {
  it('serves when it is newer than everything it is made from', async (t) => {
    const { root, write } = await makeCheckout(t)
    await write('README.md', BUILT_AT + 1)
    await write('test/main.test.ts', BUILT_AT + 1)
    assert.equal(staleBuild(root), undefined)
  })

  for (const path of sources) {
    it(`is stale when ${path} is newer`, async (t) => {
      const { root, write } = await makeCheckout(t)
      await write(path, BUILT_AT + 1)
      const line = `dist/connbook is older than ${path}; run: npm run build`
      // A new file also changes the time of its folder, which stays older than the file.
      for (const folder of ['src', 'src/commands']) await utimes(join(root, folder), BUILT_AT, BUILT_AT)
      assert.equal(staleBuild(root), line)
    })
  }

  it('is stale when a file has gone since', async (t) => {
    const { root } = await makeCheckout(t)
    await rm(join(root, 'src/commands/serve.ts'))
    await utimes(join(root, 'src/commands'), BUILT_AT + 1, BUILT_AT + 1)
    assert.equal(staleBuild(root), 'dist/connbook is older than src/commands; run: npm run build')
  })

  it('may be missing', async (t) => {
    const { root } = await makeCheckout(t)
    await rm(join(root, 'dist'), { recursive: true })
    assert.equal(staleBuild(root), 'There is no dist/connbook; run: npm run build')
  })
})
