import '../support/node-version.ts'
import { describe, it } from 'node:test'
import { LINE_BYTES_MAX } from '../../src/limits.ts'
import { last } from './journal-place.ts'
import { assertCutOff } from './torn-tail.ts'

describe('a torn tail', () => {
  it('is cut off and kept, also when it is longer than a line may be', (t) =>
    assertCutOff(t, Buffer.alloc(LINE_BYTES_MAX + 1), last.length))
})
