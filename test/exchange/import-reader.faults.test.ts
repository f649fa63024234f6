import '../support/node-version.ts'
import { describe, it } from 'node:test'
import { IMPORT_ROWS_MAX } from '../../src/limits.ts'
import { assertRowsRead } from './read-text.ts'

describe('an import of any format', () => {
  it(`reads ${IMPORT_ROWS_MAX} rows, and none after them`, () => {
    assertRowsRead(IMPORT_ROWS_MAX)
  })
})
