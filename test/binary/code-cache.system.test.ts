import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { writeCodeCache } from '../../.build/code-cache.mjs'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

/** Many names make it likely that V8 orders some of them by random numbers. */
const program = Array.from({ length: 500 }, (_, i) => `exports.name${i} = () => ({ a${i}: '${i}' })`).join(
  '\n',
)

/** A program and the code that `writeCodeCache` makes of it. */
async function writeBoth(t: TestContext) {
  const folder = await temporaryFolder(t)
  const [source, cache] = [join(folder, 'program.cjs'), join(folder, 'cache')]
  await writeFile(source, program)
  await writeCodeCache(source, cache)
  return { source, cache }
}

/** Whether a Node of its own, with its own random numbers, takes the code. */
async function isTaken(source: string, cache: string) {
  const script = `
    const { readFileSync } = require('node:fs')
    const { compileFunction } = require('node:vm')
    const [, source, cache] = process.argv
    const made = compileFunction(readFileSync(source, 'utf8'), ['require', 'builtParts'], { cachedData: readFileSync(cache) })
    console.log(!made.cachedDataRejected)`
  const { NODE_OPTIONS: _, ...env } = process.env
  return (await run(process.execPath, ['-e', script, source, cache], { env })).stdout === 'true\n'
}

describe('writeCodeCache', () => {
  it('makes the same bytes each time, whatever variables are set', async (t) => {
    const { source, cache } = await writeBoth(t)
    const again = `${cache}-again`
    const { FORCE_COLOR = '' } = process.env
    t.after(() => {
      process.env.FORCE_COLOR = FORCE_COLOR
      if (FORCE_COLOR === '') delete process.env.FORCE_COLOR
    })
    for (const value of ['0', '3']) {
      process.env.FORCE_COLOR = value
      await writeCodeCache(source, again)
      assert.ok((await readFile(cache)).equals(await readFile(again)))
    }
  })

  it('makes code that Node takes for the same program only', async (t) => {
    const { source, cache } = await writeBoth(t)
    assert.equal(await isTaken(source, cache), true)
    await writeFile(source, `${program}\n`)
    assert.equal(await isTaken(source, cache), false)
  })
})
