import './support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'

const root = join(import.meta.dirname, '..')

/** The quick tests try 200. */
const CASES = '100000'

describe(`with ${CASES} random inputs`, () => {
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  for (const file of globSync('test/**/*.properties{,.system}.test.ts', { cwd: root }).sort())
    it(`all properties hold in ${file}`, async () => {
      const child = spawn(process.execPath, ['--test', file], {
        cwd: root,
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...environment, CONNBOOK_TEST_CASES: CASES },
      })
      const ended = once(child, 'close')
      const output = await text(child.stdout)
      const [code] = await ended
      assert.equal(code, 0, output)
    })
})
