import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runAtOnce } from '../../src/scheduler.ts'
import type { Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import {
  ConfigurationIndex,
  SORTED_AT_ONCE_RECORDS_MAX,
  type Sort,
} from '../../src/store/configuration-index.ts'
import { fieldNames } from '../../src/store/fields.ts'
import { ORDER_UNUSED_MS_MAX } from '../../src/store/record-order.ts'
import { createRandom, type Random } from '../support/random.ts'
import { draft } from '../support/store.ts'

/** Few of each, so that there are ties; their order by code unit differs from those by code point and by language. */
const texts = ['', 'a', 'B', 'ä', 'Z', 'z', '10', '9', '\uff5e', '\u{1f5c4}', '__proto__', 'constructor']
const ports = [1, 9, 10, 80, 443, 65535]
const sorts: (Sort | undefined)[] = [
  undefined,
  ...fieldNames,
  ...fieldNames.map((field) => `-${field}` as const),
]

function indexOf(...records: Configuration[]): ConfigurationIndex {
  const index = new ConfigurationIndex()
  for (const [position, add] of records.entries()) index.apply({ add }, position + 1)
  return index
}

function reference(records: readonly Configuration[], sort: Sort | undefined): Configuration[] {
  const field = (sort?.replace('-', '') ?? 'id') as 'id'
  const direction = sort?.startsWith('-') ? -1 : 1
  const compare = (a: Configuration, b: Configuration) =>
    a[field] < b[field] ? -1 : a[field] > b[field] ? 1 : 0
  return [...records].sort((a, b) => direction * compare(a, b) || a.id - b.id)
}

function assertSame(index: ConfigurationIndex, records: readonly Configuration[]): void {
  assert.equal(index.count, records.length)
  assert.equal(index.jsonBytes, Buffer.byteLength(records.map((record) => record.json).join('')))
  for (const sort of sorts)
    assert.deepEqual(index.slice(0, records.length + 1, sort), reference(records, sort), `sort ${sort}`)
}

function randomFields(random: Random) {
  return { hostname: random.pick(texts), username: random.pick(texts), port: random.pick(ports) }
}

describe('a configuration index', () => {
  it('stays like a sorted array in every order under random changes', (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const randomName = () => `${random.pick(texts)}${random.integer(0, 40)}`
    const index = new ConfigurationIndex()
    const model = new Map<string, Configuration>()
    let revision = 0
    for (let step = 0; step < 3000; step++) {
      revision += 1
      const name = randomName()
      const newName = randomName()
      const old = model.get(name)
      if (old === undefined) {
        const add = new Configuration(index.lastId + 1, { name, ...randomFields(random) })
        index.apply({ add }, revision)
        model.set(name, add)
      } else if (random.integer(0, 2) === 0) {
        index.apply({ remove: name }, revision)
        model.delete(name)
      } else {
        const modify = old.with({ ...randomFields(random), ...(model.has(newName) ? {} : { name: newName }) })
        index.apply({ modify, name }, revision)
        model.delete(name)
        model.set(modify.name, modify)
      }
      if (step % 100 === 0) assertSame(index, [...model.values()])
    }
    assertSame(index, [...model.values()])
    assert.equal(index.revision, 3000)
  })

  it('orders by UTF-16 code unit', () => {
    const index = indexOf(...texts.map((name, position) => new Configuration(position + 1, draft(name))))
    const expected = [
      '',
      '10',
      '9',
      'B',
      'Z',
      '__proto__',
      'a',
      'constructor',
      'z',
      'ä',
      '\u{1f5c4}',
      '\uff5e',
    ]
    assert.deepEqual(
      index.slice(0, 20, 'name').map(({ name }) => name),
      expected,
    )
    assert.deepEqual(
      index.slice(0, 20, '-name').map(({ name }) => name),
      expected.toReversed(),
    )
  })

  it('orders ports as numbers, and ties by rising id in either direction', () => {
    const portsById = [80, 9, 443, 80, 9, 80]
    const index = indexOf(
      ...portsById.map((port, position) => new Configuration(position + 1, draft(`${position}`, { port }))),
    )
    assert.deepEqual(
      index.slice(0, 9, 'port').map(({ id }) => id),
      [2, 5, 1, 4, 6, 3],
    )
    assert.deepEqual(
      index.slice(0, 9, '-port').map(({ id }) => id),
      [3, 1, 4, 6, 2, 5],
    )
    assert.deepEqual(
      index.slice(2, 2, '-port').map(({ id }) => id),
      [4, 6],
    )
  })

  it('replaces its content when it loads records', () => {
    const index = indexOf(new Configuration(1, draft('old')))
    index.slice(0, 1, 'name')
    const records = [3, 8].map((id) => new Configuration(id, draft(`n${id}`)))
    index.load(records, 123, 20, 9)
    assert.deepEqual([index.count, index.jsonBytes, index.revision, index.lastId], [2, 123, 20, 9])
    assert.equal(index.find('old'), undefined)
    for (const sort of sorts) assert.deepEqual(index.slice(0, 9, sort), reference(records, sort))
    assert.throws(() => index.load([...records, ...records], 1, 1, 1))
  })

  it('refuses an id that is not above all earlier ones', () => {
    const index = indexOf(new Configuration(5, draft('a')))
    assert.throws(() => index.apply({ add: new Configuration(5, draft('b')) }, 2))
    assert.throws(() => index.apply({ add: new Configuration(4, draft('b')) }, 2))
  })

  it('drops an order that nobody uses while records change', () => {
    let nowMs = 0
    const index = new ConfigurationIndex(() => nowMs)
    const change = () => {
      index.apply({ add: new Configuration(index.lastId + 1, draft(`n${index.lastId}`)) }, index.revision + 1)
    }
    change()
    index.slice(0, 1, 'name')
    index.slice(0, 1, 'port')
    // Nothing changes: a reader may have remembered its page.
    nowMs += 2 * ORDER_UNUSED_MS_MAX
    change()
    assert.equal(index.parts, 3)
    nowMs += ORDER_UNUSED_MS_MAX
    index.slice(0, 1, 'name')
    nowMs += 1
    change()
    assert.equal(index.parts, 2)
    nowMs += ORDER_UNUSED_MS_MAX + 1
    change()
    assert.equal(index.parts, 1)
    assert.equal(index.slice(0, 9, 'name').length, 4)
  })

  it('lists many records in an order only once that is made', () => {
    const index = filled(SORTED_AT_ONCE_RECORDS_MAX + 1)
    assert.equal(index.isOrdered('name'), false)
    assert.throws(() => index.slice(0, 1, 'name'), /before the order is made/)
    const work = index.order('name')
    work.next()
    assert.equal(index.isOrdered('name'), false)
    assert.throws(() => index.freeze('name'), /still being made/)
    runAtOnce(work)
    assert.equal(index.isOrdered('name'), true)
    assert.equal(index.slice(0, 1, 'name')[0]?.name, 'n0')
  })
})

describe('many changes of a configuration index', () => {
  it('show as a whole at the end, in every order, also in those that are made meanwhile', (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    for (let round = 0; round < 20; round++) {
      const index = filled(2_000)
      runAtOnce(index.order('hostname'))
      runAtOnce(index.order('-port'))
      const before = index.slice(0, 3_000)
      const { changes, after } = randomChanges(random, index, before)
      const applying = index.applyTogether(changes, index.revision + 1)
      const others = (['name', '-username'] as const).map((sort) => index.order(sort))
      let revision = index.revision
      for (let isApplied = false; !isApplied; ) {
        const next = random.integer(0, 3) > 0 ? undefined : random.pick(others)
        if (next !== undefined) next.next()
        else isApplied = applying.next().done === true
        const shown: readonly Configuration[] = isApplied ? after : before
        if (isApplied) revision += changes.length
        assert.equal(index.revision, revision)
        assert.equal(index.count, shown.length)
        const sample = random.pick(before)
        const expected = shown.find(({ name }) => name === sample.name)
        assert.equal(index.find(sample.name), expected)
      }
      // A single change, too, may come while an order is made.
      const add = new Configuration(index.lastId + 1, draft('last', { port: 7 }))
      index.apply({ add }, index.revision + 1)
      for (const work of others) runAtOnce(work)
      const all = [...after, add]
      assert.equal(index.jsonBytes, Buffer.byteLength(all.map(({ json }) => json).join('')))
      for (const sort of [undefined, 'hostname', '-port', 'name', '-username'] as const)
        assert.deepEqual(index.slice(0, 5_000, sort), reference(all, sort), `sort ${sort}`)
    }
  })

  it('give each record as it was before', () => {
    const index = indexOf(...['a', 'b', 'c'].map((name, i) => new Configuration(i + 1, draft(name))))
    const [a, b, c] = index.slice(0, 3)
    assert.ok(a && b && c)
    const changes = [
      { remove: 'a' },
      { modify: b.with({ port: 9 }), name: 'b' },
      { modify: c.with({ name: 'd' }), name: 'c' },
      { add: new Configuration(4, draft('e')) },
    ]
    assert.deepEqual(runAtOnce(index.applyTogether(changes, 4)), [a, b, c, undefined])
    assert.deepEqual([index.revision, index.lastId], [7, 4])
    assert.deepEqual(
      index.slice(0, 9).map(({ name, port }) => [name, port]),
      [
        ['b', 9],
        ['d', 22],
        ['e', 22],
      ],
    )
  })

  const misfits: Record<string, Change[]> = {
    'an unknown name': [{ remove: 'b' }, { remove: 'x' }],
    'a name that is taken': [{ add: new Configuration(4, draft('a')) }],
    'an id that was given before': [{ add: new Configuration(3, draft('x')) }],
    'another id': [{ modify: new Configuration(1, draft('b')), name: 'b' }],
  }
  for (const [what, changes] of Object.entries(misfits)) {
    it(`are refused with ${what}, and change nothing`, () => {
      const index = indexOf(...['a', 'b', 'c'].map((name, i) => new Configuration(i + 1, draft(name))))
      assert.throws(() => runAtOnce(index.applyTogether(changes, 4)))
      assert.deepEqual(
        [index.revision, index.lastId, index.slice(0, 9, 'name').map(({ name }) => name)],
        [3, 3, ['a', 'b', 'c']],
      )
    })
  }
})

/** Records `n0` and so on. */
function filled(count: number): ConfigurationIndex {
  const index = new ConfigurationIndex()
  const random = createRandom(1)
  const records = Array.from(
    { length: count },
    (_, i) => new Configuration(i + 1, { name: `n${i}`, ...randomFields(random) }),
  )
  index.load(records, Buffer.byteLength(records.map(({ json }) => json).join('')), count, count)
  return index
}

function randomChanges(random: Random, index: ConfigurationIndex, before: readonly Configuration[]) {
  const changes: Change[] = []
  const after: Configuration[] = []
  const [removals, modifications] = [random.integer(0, 5), random.integer(0, 5)]
  for (const record of before) {
    const name = record.id % 3 === 0 ? `m${record.id}` : record.name
    if (random.integer(0, 4) < removals) changes.push({ remove: record.name })
    else if (random.integer(0, 4) < modifications) {
      const modify = record.with({ ...randomFields(random), name })
      changes.push({ modify, name: record.name })
      after.push(modify)
    } else after.push(record)
  }
  const adds = random.pick([0, 1, 1_500])
  for (let i = 1; i <= adds; i++) {
    const add = new Configuration(index.lastId + i, { name: `a${i}`, ...randomFields(random) })
    changes.push({ add })
    after.push(add)
  }
  return { changes, after }
}
