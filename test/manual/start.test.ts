import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RECORD_JSON_COPIES, RECORD_MEMORY_BYTES } from '../../src/limits.ts'
import { recordMemory, recordMemoryMax } from '../../src/store/record-room.ts'
import { readChapterNamed } from './published.ts'

const text = readChapterNamed('start')
const MIB = 1024 * 1024
/** As the build gives it to Node. */
const HEAP_SHARE = 0.75

describe('the chapter "start"', () => {
  it('tells how many records fit into which memory', () => {
    const rows = [...text.matchAll(/^\| (\d+) (MiB|GiB) \| ([\d,]+) \|$/gm)]
    assert.equal(rows.length, 4)
    for (const [row, size, unit, count] of rows) {
      const memory = Number(size) * (unit === 'GiB' ? 1024 : 1) * MIB
      const one = recordMemory({ count: 1, jsonBytes: 110 })
      const fitting = recordMemoryMax(memory, memory * HEAP_SHARE) / one
      const told = Number(count?.replaceAll(',', ''))
      assert.ok(told <= fitting && told > 0.9 * fitting, `${row} ${Math.floor(fitting)}`)
    }
    assert.equal(RECORD_JSON_COPIES, 2)
    assert.ok(text.includes(`A record counts ${RECORD_MEMORY_BYTES} bytes and twice`))
  })
})
