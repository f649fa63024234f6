import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changesBetween, recordImport } from '../../src/audit/changed-records.ts'
import { IMPORT_AUDITED_RECORDS_MAX } from '../../src/limits.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

const record = (id: number, fields = {}) => new Configuration(id, draft(`record-${id}`, fields))
const actor = { command: 'import', by: 'root' }

/** A trail that keeps its events in memory. */
function createTrail() {
  const lines: unknown[][] = []
  return { lines, record: async (...line: unknown[]) => void lines.push(line), close: async () => {} }
}

describe('changesBetween', () => {
  it('returns the fields that differ, with both values, under the old name', () => {
    const after = new Configuration(7, draft('new', { port: 23 }))
    assert.deepEqual(changesBetween(record(7), after), {
      id: 7,
      name: 'record-7',
      changed: { name: { before: 'record-7', after: 'new' }, port: { before: 22, after: 23 } },
    })
  })
})

describe('recordImport', () => {
  it('adds a line with the counts, and one for each record, removed records first', async () => {
    const trail = createTrail()
    const [added, removed] = [record(1), record(2)]
    const [before, after] = [record(3), record(3, { port: 23 })]
    const plan = { added: [added], removed: [removed], modified: [{ before, after }], unchanged: 4 }
    await recordImport(trail, actor, 'replace', plan)
    const counts = { mode: 'replace', added: 1, modified: 1, removed: 1, unchanged: 4 }
    assert.deepEqual(trail.lines, [
      ['configurations_imported', actor, counts],
      ['configuration_deleted', actor, undefined, removed],
      ['configuration_modified', actor, changesBetween(before, after)],
      ['configuration_added', actor, undefined, added],
    ])
  })

  it('adds no lines for single records when there are too many', async () => {
    const linesFor = async (length: number) => {
      const trail = createTrail()
      const added = Array.from({ length }, (_, i) => record(i))
      const removed = [record(length)]
      await recordImport(trail, actor, 'replace', { added, removed, modified: [], unchanged: 0 })
      return trail.lines.length
    }
    assert.equal(await linesFor(IMPORT_AUDITED_RECORDS_MAX - 1), IMPORT_AUDITED_RECORDS_MAX + 1)
    assert.equal(await linesFor(IMPORT_AUDITED_RECORDS_MAX), 1)
  })
})
