import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runAtOnce, Scheduler } from '../../src/scheduler.ts'
import type { Asker } from '../../src/store/authorship.ts'
import { type BulkChange, type ImportPlan, planOf } from '../../src/store/bulk-change.ts'
import type { Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { ConfigurationIndex, UPDATES_AT_ONCE_MAX } from '../../src/store/configuration-index.ts'
import { filteredChange } from '../../src/store/filtered-change.ts'
import { bulkImport } from '../../src/store/import-plan.ts'
import { PlannedBulk } from '../../src/store/planned-bulk.ts'
import { RecordRoom } from '../../src/store/record-room.ts'
import { Records } from '../../src/store/records.ts'
import { ITEMS_A_STEP } from '../../src/store/slices.ts'
import { TOUCHED_RECORDS_MAX } from '../../src/store/touched-records.ts'
import { createRandom, type Random } from '../support/random.ts'
import { draft, someone } from '../support/store.ts'

const RUNS = 100
const DIGIT_BYTES_MAX = 8
/** More than are looked at in one step. */
const NAMES = Array.from({ length: 3 * ITEMS_A_STEP }, (_, i) => `n${i}`)
const room = new RecordRoom(Number.POSITIVE_INFINITY)

function openRecords(scheduler = new Scheduler()) {
  const records = new Records(new ConfigurationIndex(), scheduler)
  const apply = (change: Change) => records.applyAt(records.index.revision + 1, [change])
  return { records, apply }
}

const bulks: Record<string, BulkChange> = {
  'a change by filter': filteredChange({
    matches: ({ port }) => port > 2,
    query: 'any',
    patch: { port: 3 },
  }),
  'a removal by filter': filteredChange({
    matches: ({ port }) => port === 1,
    query: 'any',
    patch: undefined,
  }),
  'an import that merges': bulkImport(
    NAMES.slice(0, 24).map((name) => draft(name, { port: 3 })),
    'merge',
  ),
  'an import that replaces': bulkImport(
    NAMES.slice(12, 36).map((name) => draft(name, { port: 3 })),
    'replace',
  ),
}

/** A change that fits the records; undefined if there is none of its kind. */
function anyChange(index: ConfigurationIndex, random: Random): Change | undefined {
  const name = NAMES[random.integer(0, NAMES.length - 1)] ?? ''
  const to = NAMES[random.integer(0, NAMES.length - 1)] ?? ''
  const record = index.find(name)
  if (record === undefined)
    return { add: new Configuration(index.lastId + 1, draft(name, { port: 1 + random.integer(0, 3) })) }
  if (random.integer(0, 2) === 0) return { remove: name }
  const changes = index.find(to) === undefined ? { name: to } : { port: 1 + random.integer(0, 3) }
  const modify = record.with(changes)
  return modify === record ? undefined : { modify, name }
}

function described({ added, modified, removed, unchanged }: ImportPlan) {
  const pairs = modified.map(({ before, after }) => `${before.json} ${after.json}`)
  const jsonOf = (records: readonly Configuration[]) => records.map(({ json }) => json)
  return {
    added: jsonOf(added),
    modified: pairs.sort(),
    removed: jsonOf(removed).sort(),
    unchanged,
  }
}

describe('a change of many that is planned before its turn', () => {
  for (const [what, bulk] of Object.entries(bulks))
    it(`is in its turn what it would be if it were planned then: ${what}`, () => {
      for (let seed = 1; seed <= RUNS; seed++) {
        const random = createRandom(seed)
        const { records, apply } = openRecords()
        const changeSome = (most: number) => {
          for (let i = random.integer(0, most - 1); i > 0; i--) {
            const change = anyChange(records.index, random)
            if (change !== undefined) apply(change)
          }
        }
        changeSome(4 * NAMES.length)
        const planned = new PlannedBulk({ bulk, asker: undefined }, records, room, records.index.lastId)
        const ahead = planned.decide(records.index.lastId)
        while (!ahead.next().done) if (random.integer(0, 2) === 0) changeSome(3)
        changeSome(6)
        const { index } = records
        const plan = runAtOnce(planned.decide(index.lastId))
        planned.stop()
        const now = {
          records: index.freeze(),
          find: (name: string) => index.find(name),
          lastId: index.lastId,
        }
        const expected = planOf(bulk, now)
        assert.deepEqual(described(plan), described(expected), `seed ${seed}`)
        // An id may have become a digit longer.
        const difference = Math.abs(plan.growth - expected.growth)
        assert.ok(difference <= DIGIT_BYTES_MAX * plan.added.length, `seed ${seed}: ${difference}`)
      }
    })

  it('sees all of another one, or nothing', async () => {
    const { records, apply } = openRecords(new Scheduler(0))
    const many = Array.from(
      { length: UPDATES_AT_ONCE_MAX + 1 },
      (_, i) => new Configuration(i + 1, draft(`n${i}`)),
    )
    for (const add of many) apply({ add })
    const [first, ...others] = many
    const last = others.at(-1)
    assert.ok(first !== undefined && last !== undefined)
    const found = first.with({ port: 1 })
    apply({ modify: found, name: found.name })
    const bulk = filteredChange({ matches: ({ port }) => port === 1, query: 'any', patch: undefined })
    const planned = new PlannedBulk({ bulk, asker: undefined }, records, room, records.index.lastId)
    const ahead = planned.decide(records.index.lastId)
    for (let taken = 0; taken + ITEMS_A_STEP < many.length; taken += ITEMS_A_STEP) ahead.next()

    const { promise, resolve } = Promise.withResolvers<void>()
    records.onDurable(() => resolve())
    const moved = others.map((record) => record.with({ port: record === last ? 1 : 2 }))
    const changes = [found.with({ port: 2 }), ...moved].map((modify) => ({ modify, name: modify.name }))
    const applying = records.applyTogether(changes, records.index.revision + 1)
    await promise
    assert.deepEqual([runAtOnce(ahead).removed, planned.isCurrent], [[found], false])
    await applying
    assert.deepEqual(
      runAtOnce(planned.decide(records.index.lastId)).removed.map(({ name }) => name),
      [last.name],
    )
    assert.equal(planned.isCurrent, true)
    planned.stop()
  })

  it('looks again at nothing but what has changed', () => {
    const { records, apply } = openRecords()
    for (const [i, name] of NAMES.entries()) apply({ add: new Configuration(i + 1, draft(name)) })
    const asked: string[] = []
    const matches = ({ name, port }: Configuration) => asked.push(`${name} ${port}`) > 0
    const bulk = filteredChange({ matches, query: 'all=1', patch: { port: 3 } })
    const planned = new PlannedBulk({ bulk, asker: undefined }, records, room, NAMES.length)
    runAtOnce(planned.decide(NAMES.length))
    assert.equal(asked.length, NAMES.length)
    asked.length = 0
    const record = records.index.find('n4') ?? assert.fail('it is gone')
    apply({ modify: record.with({ port: 5 }), name: 'n4' })
    const { modified } = runAtOnce(planned.decide(NAMES.length))
    planned.stop()
    assert.deepEqual(asked, ['n4 22', 'n4 5'])
    assert.equal(modified.length, NAMES.length)
  })

  it('is lost when too many records change, or others are in the place of all', () => {
    for (const lose of [
      ({ apply }: ReturnType<typeof openRecords>) => {
        for (let id = 1; id <= TOUCHED_RECORDS_MAX + 1; id++)
          apply({ add: new Configuration(id, draft(`n${id}`)) })
      },
      ({ records }: ReturnType<typeof openRecords>) => records.replace(new ConfigurationIndex()),
    ]) {
      const opened = openRecords()
      const bulk = bulkImport([], 'replace')
      const planned = new PlannedBulk({ bulk, asker: undefined }, opened.records, room, 0)
      assert.equal(planned.isLost, false)
      lose(opened)
      assert.equal(planned.isLost, true)
      planned.stop()
    }
  })

  it('does not look again at what it has changed itself', () => {
    const { records, apply } = openRecords()
    apply({ add: new Configuration(1, draft('a')) })
    let looks = 0
    const matches = () => ++looks > 0
    const bulk = filteredChange({ matches, query: 'all=1', patch: { port: 3 } })
    const planned = new PlannedBulk({ bulk, asker: undefined, actor: someone }, records, room, 1)
    const [one] = runAtOnce(planned.decide(1)).modified
    apply({ modify: one?.after ?? assert.fail(), name: 'a', authorship: { actor: someone, time: '' } })
    runAtOnce(planned.decide(1))
    planned.stop()
    assert.equal(looks, 1)
  })

  it('tells whether its principal may still see and change the same', () => {
    const { records } = openRecords()
    const asker = { principal: { grants: ['read'] } }
    const planned = new PlannedBulk(
      { bulk: bulkImport([], 'merge'), asker: asker as unknown as Asker },
      records,
      room,
      0,
    )
    assert.equal(planned.isStillGranted(), true)
    asker.principal = { grants: ['write'] }
    assert.equal(planned.isStillGranted(), false)
    planned.stop()
  })
})
