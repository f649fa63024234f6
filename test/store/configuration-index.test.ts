import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Configuration } from '../../src/store/configuration.ts'
import { ConfigurationIndex, type Sort, sortFields } from '../../src/store/configuration-index.ts'
import { createRandom, type Random } from '../support/random.ts'
import { draft } from '../support/store.ts'

/** Few of each, so that there are ties; their order by code unit differs from those by code point and by language. */
const texts = ['', 'a', 'B', 'ä', 'Z', 'z', '10', '9', '\uff5e', '\u{1f5c4}', '__proto__', 'constructor']
const ports = [1, 9, 10, 80, 443, 65535]
const sorts: (Sort | undefined)[] = [
  undefined,
  ...sortFields,
  ...sortFields.map((field) => `-${field}` as const),
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
})
