import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PastRecords } from '../../src/audit/past-records.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

const present = new Configuration(1, draft('a', { port: 3, labels: { team: 'a' } }))
const modified = (changed: unknown) => ({ event: 'configuration_modified', id: 1, name: 'a', changed })
const portFrom = (before: number, after: number) => ({ port: { before, after } })

describe('the records as they were', () => {
  it('are certain as far back as each change is listed', () => {
    const past = new PastRecords(() => present)
    const changes = [modified(portFrom(2, 3)), modified(portFrom(1, 2))].map((line) => past.undo(line, 1))
    assert.deepEqual(
      changes.map(({ before, isCertain }) => [before?.port, isCertain]),
      [
        [2, true],
        [1, true],
      ],
    )
  })

  for (const [what, changed] of Object.entries({
    'has a field of a newer connbook': { owner: { before: 'b', after: 'a' }, 'labels.team': {} },
    'is damaged': 'labels.team',
  }))
    it(`are not certain before a change that ${what}`, () => {
      const past = new PastRecords(() => present)
      past.undo(modified(portFrom(2, 3)), 1)
      assert.equal(past.undo(modified(changed), 1).isCertain, false)
      assert.equal(past.undo(modified(portFrom(1, 2)), 1).isCertain, false)
      const added = { event: 'configuration_added', record: { ...draft('a'), id: 1 } }
      assert.equal(past.undo(added, 1).isCertain, true)
    })
})
