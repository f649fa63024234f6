import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordMemoryMax } from '../../../src/budget.ts'
import { IMPORT_BYTES_MAX, MEMORY_MIB_MIN, NAME_CHARACTERS_MAX } from '../../../src/limits.ts'
import { importLimitsFor } from '../../../src/resources/import.ts'
import { importRowMemory } from '../../../src/store/import-plan.ts'
import { makeMemoryGroup, noMemoryGroups } from '../../support/memory-group.ts'
import { startAttacked } from './attacked-server.ts'

/** A name, a host name of 50 characters, and little else. */
const SHORT_ROW_CHARACTERS = 64
const HEADER = 'name,hostname,port,username\n'
const memory = MEMORY_MIB_MIN * 1024 * 1024
const { bytesMax, memoryMax } = importLimitsFor(1_000, recordMemoryMax(memory, memory))
/** How many rows of so many characters there may be. */
function rowsMaxOf(rowCharacters: number): number {
  const row = { name: 'i00000', hostname: 'h'.repeat(50), port: 22, username: 'u'.repeat(rowCharacters - 60) }
  return Math.floor(memoryMax / importRowMemory(row))
}

/** As many rows as may be, each with so many characters. */
function file(rowCharacters: number, bytes = bytesMax): string {
  const count = Math.min(rowsMaxOf(rowCharacters), Math.floor((bytes - HEADER.length) / (rowCharacters + 1)))
  const row = (i: number) => `i${i},${'h'.repeat(50)},22,`.padEnd(rowCharacters, 'u')
  return HEADER + Array.from({ length: count }, (_, i) => `${row(i)}\n`).join('')
}

describe(`in ${MEMORY_MIB_MIN} MiB of memory, an import`, { skip: noMemoryGroups }, () => {
  for (const [what, text, status] of [
    ['with as many rows as it may have', file(SHORT_ROW_CHARACTERS), 200],
    ['with as long rows as it may have', file(NAME_CHARACTERS_MAX), 200],
    [
      'that is too long for so little memory',
      file(NAME_CHARACTERS_MAX, IMPORT_BYTES_MAX) + ' '.repeat(bytesMax),
      413,
    ],
  ] as const)
    it(`${what} is answered ${status}, tried and done, and does not end the server`, async (t) => {
      const group = makeMemoryGroup(t, MEMORY_MIB_MIN)
      const server = await startAttacked(t, { records: 1, through: group.through })
      for (const query of ['format=csv&dry_run=1', 'format=csv']) {
        const answer = await fetch(`${server.url}/v1/import?${query}`, {
          method: 'POST',
          headers: { Authorization: server.bearer },
          body: text,
        })
        assert.equal(answer.status, status, await answer.text())
      }
      const { failures } = await server.client('good').work(50)
      assert.deepEqual(failures, [])
      t.diagnostic(`${group.usedMebibytes().toFixed()} MiB in use`)
    })
})
