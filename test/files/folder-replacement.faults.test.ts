import '../support/node-version.ts'
import { describe, it } from 'node:test'
import { assertNeverHalfWay } from './replaced-folder.ts'

describe('the replacement of the files in a folder', () => {
  it('leaves the old or the new files, complete, when the process ends at any call of each completion', (t) =>
    assertNeverHalfWay(t, { completions: Number.POSITIVE_INFINITY, alsoWhenOld: true }))
})
