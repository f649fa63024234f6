import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { HEAP_SHARE, recordMemoryMax } from '../../src/budget.ts'
import { MEMORY_MIB_MIN } from '../../src/limits.ts'
import {
  LABEL_MEMORY_BYTES,
  RECORD_JSON_COPIES,
  RECORD_MEMORY_BYTES,
  recordMemory,
} from '../../src/store/record-room.ts'
import { readChapterNamed } from './published.ts'

const text = readChapterNamed('start')
const MIB = 1024 * 1024
/** Node adds it to the share of the memory that the build names. */
const YOUNG_BYTES = 3 * 8 * MIB

describe('the chapter "start"', () => {
  it('says how many records fit into which memory', () => {
    const rows = [...text.matchAll(/^\| (\d+) (MiB|GiB) \| ([\d,]+) \|$/gm)]
    assert.equal(rows.length, 4)
    for (const [row, size, unit, count] of rows) {
      const memory = Number(size) * (unit === 'GiB' ? 1024 : 1) * MIB
      const one = recordMemory({ count: 1, jsonBytes: 110, labels: 0 })
      const fitting = recordMemoryMax(memory, memory * HEAP_SHARE + YOUNG_BYTES) / one
      const told = Number(count?.replaceAll(',', ''))
      assert.ok(told <= fitting && told > 0.9 * fitting, `${row} ${Math.floor(fitting)}`)
    }
    const [, first] = new RegExp(`\\| ${MEMORY_MIB_MIN} MiB \\| ([\\d,]+) \\|`).exec(text) ?? []
    assert.ok(text.includes(`${MEMORY_MIB_MIN} MiB of free memory, for up to ${first} records`))
    assert.equal(RECORD_JSON_COPIES, 4)
    const counted = `A record counts as ${RECORD_MEMORY_BYTES} bytes, plus four times the bytes of its JSON, plus ${LABEL_MEMORY_BYTES} for each label`
    assert.ok(text.replaceAll('\n', ' ').includes(counted))
  })

  it('and others say the same least memory', () => {
    const least = `${MEMORY_MIB_MIN} MiB`
    for (const name of ['container', 'systemd'] as const)
      assert.ok(
        readChapterNamed(name).replaceAll(/\n +/g, ' ').includes(`the least is ${least}`) ||
          readChapterNamed(name).includes(`The least is ${least}`),
      )
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')
    assert.ok(readme.includes(`${least} of free memory`))
  })
})
