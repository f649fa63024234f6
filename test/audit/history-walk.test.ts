import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { HISTORY_CHARACTERS_MAX, HistoryWalk } from '../../src/audit/history-walk.ts'
import { ListedRanges } from '../../src/audit/listed-ranges.ts'
import { ALL_HISTORY_ENTRIES_MAX } from '../../src/limits.ts'

/** The history of so many changes, each with a reason. */
function read(count: number, reason: string) {
  const walk = new HistoryWalk({ limit: ALL_HISTORY_ENTRIES_MAX }, count, () => undefined)
  const time = '2026-01-01T00:00:00.000Z'
  for (let id = count; id > 0; id--)
    walk.take({ event: 'configuration_deleted', time, id, name: 'n', reason }, id, 100)
  return walk.end(new ListedRanges(), time)
}

it('a history of long changes has fewer of them, and says that there are more', () => {
  const short = read(ALL_HISTORY_ENTRIES_MAX, 'why')
  assert.deepEqual([short.entries.length, short.next], [ALL_HISTORY_ENTRIES_MAX, undefined])
  const { entries, next } = read(ALL_HISTORY_ENTRIES_MAX, 'y'.repeat(HISTORY_CHARACTERS_MAX / 100))
  assert.ok(entries.join('').length <= HISTORY_CHARACTERS_MAX && entries.length > 90, `${entries.length}`)
  const last = ALL_HISTORY_ENTRIES_MAX + 1 - entries.length
  assert.deepEqual(next, { revision: last, id: last })
  // One always fits.
  assert.equal(read(2, 'y'.repeat(HISTORY_CHARACTERS_MAX)).entries.length, 1)
})
