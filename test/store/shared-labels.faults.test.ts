import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sharedLabels } from '../../src/store/shared-labels.ts'

/** Bytes of the heap that are in use. */
function usedHeap(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

describe('shared labels', () => {
  it('hold nothing of the longer text from which their values were cut', () => {
    const [texts, characters] = [60, 512 * 1024]
    const before = usedHeap()
    const kept = Array.from({ length: texts }, (_, i) => {
      const text = Buffer.alloc(characters, `the text ${i} `).toString('latin1')
      return sharedLabels({ note: text.slice(100, 200) })
    })
    const grown = usedHeap() - before
    assert.ok(grown < (texts * characters) / 4, `${grown} bytes`)
    assert.equal(kept.length, texts)
  })
})
