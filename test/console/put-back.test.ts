import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { HistoryEntry } from '../../src/console/history-entry.ts'
import { stateBefore } from '../../src/console/put-back.ts'

const present = { id: 1, name: 'b', hostname: 'h', port: 23, username: 'u', labels: { env: 'prod' } }
const at = (seconds: number) => `2026-01-01T00:00:0${seconds}.000Z`
const entry = (seconds: number, event: string, more: Partial<HistoryEntry>): HistoryEntry => ({
  time: at(seconds),
  event: `configuration_${event}`,
  id: 1,
  ...more,
})
const renamed = entry(4, 'modified', { name: 'a', changed: { name: { before: 'a', after: 'b' } } })
const labelled = entry(3, 'modified', {
  changed: { 'labels.env': { before: null, after: 'prod' }, 'labels.old': { before: '', after: null } },
})
const moved = entry(2, 'modified', { changed: { port: { before: 22, after: 23 } } })
const first = { id: 1, name: 'a', hostname: 'h', port: 22, username: 'u', labels: { old: '' } }
const added = entry(1, 'added', { record: first })
const history = [renamed, labelled, moved, added]

describe('how a record was before a change', () => {
  it('is found behind all changes since', () => {
    const { id: _, ...before } = first
    const known = { history, since: at(1) }
    assert.deepEqual(stateBefore(present, known, 0), {
      record: { ...before, port: 23, labels: present.labels },
    })
    assert.deepEqual(stateBefore(present, known, 1), { record: { ...before, port: 23 } })
    assert.deepEqual(stateBefore(present, known, 2), { record: before })
    assert.deepEqual(stateBefore(present, known, 3), { record: undefined })
  })

  it('is the record of a deletion, and goes on before it', () => {
    const deleted = entry(5, 'deleted', { record: present })
    const known = { history: [deleted, ...history] }
    const { id: _, ...last } = present
    assert.deepEqual(stateBefore(undefined, known, 0), { record: last })
    assert.deepEqual(stateBefore(undefined, known, 1), { record: { ...last, name: 'a' } })
  })

  it('is unknown where the history has gaps or does not fit', () => {
    assert.equal(stateBefore(present, { history, since: at(3) }, 2), 'unknown')
    assert.equal(stateBefore({ ...present, name: 'c' }, { history }, 0), 'unknown')
    assert.equal(stateBefore({ ...present, port: 1 }, { history }, 2), 'unknown')
    assert.equal(stateBefore(undefined, { history }, 0), 'unknown')
    assert.equal(stateBefore(present, { history }, -1), 'unknown')
    assert.equal(stateBefore(present, { history: [] }, 0), 'unknown')
  })
})
