import './support/node-version.ts'
import { globSync } from 'node:fs'
import { describe, it } from 'node:test'
import { assertPasses, root } from './support/test-process.ts'

/** The quick tests try 200. */
const CASES = '100000'

describe(`with ${CASES} random inputs`, () => {
  for (const file of globSync('test/**/*.properties{,.system}.test.ts', { cwd: root }).sort())
    it(`all properties hold in ${file}`, (t) => assertPasses(t, file, { CONNBOOK_TEST_CASES: CASES }))
})
