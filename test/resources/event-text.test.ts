import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventPieces } from '../../src/resources/event-text.ts'
import { Access } from '../../src/store/access.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { RecentChanges } from '../../src/store/recent-changes.ts'
import { draft } from '../support/store.ts'

function piecesOf(changes: number) {
  const recent = new RecentChanges()
  for (let revision = 1; revision <= changes; revision++)
    recent.add({ add: new Configuration(revision, draft(`r${revision}`)) }, revision, undefined)
  return new EventPieces({ id: '0'.repeat(32), recent })
}

const all = (after: number) => ({ after, filter: {}, filterKey: '{}' })
const only = (name: string, after: number) => ({ after, filter: { name }, filterKey: `{"name":"${name}"}` })
const eventsIn = (text: string) => Array.from(text.matchAll(/"name":"(\w+)"/g), ([, name]) => name)

describe('the pieces of event streams', () => {
  it('are the same for all streams at one position with equal filters, in whatever order they ask', (t) => {
    t.mock.method(performance, 'now', () => 0)
    const pieces = piecesOf(3)
    const positions = [all(0), all(1), only('r2', 0), only('r3', 0), only('r9', 0)]
    const first = positions.map((position) => pieces.at(position))
    assert.deepEqual(
      first.map(({ live }) => live && eventsIn(String(live.bytes))),
      [['r1', 'r2', 'r3'], ['r2', 'r3'], ['r2'], ['r3'], undefined],
    )
    assert.deepEqual(
      first.map(({ upTo }) => upTo),
      [3, 3, 3, 3, 3],
    )
    for (const [i, position] of [...positions.entries(), ...positions.entries()].toReversed())
      assert.equal(pieces.at({ ...position }), first[i])
  })

  it('look once for the last change of an import that somebody with grants sees', (t) => {
    t.mock.method(performance, 'now', () => 0)
    const recent = new RecentChanges()
    const count = 200
    const adds = Array.from({ length: count }, (_, i) => ({
      add: new Configuration(i + 1, draft(i < count / 2 ? `seen${i}` : `other${i}`)),
    }))
    recent.addTogether(adds, count, [])
    let reads = 0
    const counted = {
      get last() {
        return recent.last
      },
      at(place: number) {
        reads += 1
        return recent.at(place)
      },
    }
    const access = new Access(['read?prefix=seen'])
    const filter = access.limit(undefined) ?? {}
    const pieces = new EventPieces({ id: '0'.repeat(32), recent: counted as RecentChanges })
    const { live } = pieces.at({ after: 0, filter, access, filterKey: access.key })
    const events = String(live?.bytes)
    assert.equal(eventsIn(events).length, count / 2)
    assert.equal(events.match(/^id: \S+-\d+$/gm)?.length, 1, 'the last one has the tag')
    assert.ok(reads <= 2 * count, `${reads} changes were read`)
  })

  it('read as many changes as there is time for, also to find the last one that somebody with grants sees', (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const count = 100
    const recent = new RecentChanges()
    const adds = Array.from({ length: count }, (_, i) => ({
      add: new Configuration(i + 1, draft(i < 2 ? `seen${i}` : `other${i}`)),
    }))
    recent.addTogether(adds, count, [])
    let reads = 0
    const slow = {
      get last() {
        return recent.last
      },
      at(place: number) {
        reads += 1
        now += 0.25
        return recent.at(place)
      },
    }
    const access = new Access(['read?prefix=seen'])
    const filter = access.limit(undefined) ?? {}
    let text = ''
    for (let after = 0; after < count; ) {
      reads = 0
      // As for each round of streams.
      const pieces = new EventPieces({ id: '0'.repeat(32), recent: slow as RecentChanges })
      const { live, upTo } = pieces.at({ after, filter, access, filterKey: access.key })
      assert.ok(reads > 0 && reads <= 9, `${reads} changes at once`)
      after = upTo
      text += live === undefined ? '' : String(live.bytes)
    }
    assert.deepEqual(eventsIn(text), ['seen0', 'seen1'])
    assert.deepEqual(
      Array.from(text.matchAll(/^id: \w+-(\S+)$/gm), ([, id]) => id),
      ['100.1', '100'],
    )
  })

  it('do not take a change for the last one that somebody sees while an import is still being sent', (t) => {
    t.mock.method(performance, 'now', () => 0)
    const count = 6
    const actor = { requestId: 'r' }
    const authorship = {
      ...{ actor, time: '2026-01-01T00:00:00.000Z' },
      import: { mode: 'merge', added: count, modified: 0, removed: 0, unchanged: 0 },
    } as const
    const recent = new RecentChanges()
    const tell = (from: number, to: number) => {
      for (let n = from; n <= to; n++)
        recent.add({ add: new Configuration(n, draft(`seen${n}`)), authorship }, n, undefined)
    }
    const access = new Access(['read?prefix=seen'])
    const filter = access.limit(undefined) ?? {}
    const store = { id: '0'.repeat(32), recent }
    const idsAfter = (after: number) => {
      const { live } = new EventPieces(store).at({ after, filter, access, filterKey: access.key })
      return Array.from(String(live?.bytes).matchAll(/^id: \S+-(\S+)$/gm), ([, id]) => id)
    }
    tell(1, 4)
    assert.deepEqual(idsAfter(0), ['6.1', '6.2', '6.3', '6.4'], 'who goes on from any of them misses nothing')
    tell(5, 6)
    assert.deepEqual(idsAfter(4), ['6.5', '6'])
  })
})
