import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Configuration } from '../../src/store/configuration.ts'
import { StagedNames } from '../../src/store/staged-names.ts'
import { draft } from '../support/store.ts'

const durable = Promise.resolve()
const refused = () => {
  const promise = Promise.reject(new Error('refused'))
  promise.catch(() => {})
  return promise
}
const record = (id: number, name: string) => new Configuration(id, draft(name))

describe('staged names', () => {
  it('contain a name only while a change of it is pending', () => {
    const staged = new StagedNames()
    const change = { add: record(1, 'a') }
    assert.equal(staged.find('a'), undefined)
    staged.add(change, durable)
    assert.equal(staged.find('a')?.holder, change.add)
    staged.remove(change)
    assert.equal(staged.find('a'), undefined)
    assert.deepEqual(staged.names(), [])
  })

  it('distinguish a name that will be free from one that no change affects', () => {
    const staged = new StagedNames()
    staged.add({ remove: 'a' }, durable)
    assert.notEqual(staged.find('a'), undefined)
    assert.equal(staged.find('a')?.holder, undefined)
    assert.equal(staged.find('b'), undefined)
    assert.deepEqual([staged.names(), staged.holders()], [['a'], []])
  })

  it('free the old name of a renamed record, and take the new one', () => {
    const staged = new StagedNames()
    const renamed = record(1, 'new')
    const change = { modify: renamed, name: 'old' }
    staged.add(change, durable)
    assert.deepEqual([staged.find('old')?.holder, staged.find('new')?.holder], [undefined, renamed])
    assert.deepEqual(staged.names(), ['old', 'new'])
    assert.deepEqual(staged.holders(), [renamed])
    staged.remove(change)
    assert.deepEqual(staged.names(), [])
  })

  it('keep the name of a record that is modified under it', () => {
    const staged = new StagedNames()
    const modified = record(1, 'same')
    staged.add({ modify: modified, name: 'same' }, durable)
    assert.equal(staged.find('same')?.holder, modified)
    assert.deepEqual(staged.names(), ['same'])
  })

  it('follow the last of several changes, until all of them are durable', () => {
    const staged = new StagedNames()
    const first = { add: record(1, 'a') }
    const second = { remove: 'a' }
    const third = { add: record(2, 'a') }
    for (const change of [first, second, third]) staged.add(change, durable)
    for (const change of [first, second]) {
      staged.remove(change)
      assert.equal(staged.find('a')?.holder, third.add)
    }
    staged.remove(third)
    assert.equal(staged.find('a'), undefined)
  })

  it('are all released when the changes are refused, and a late removal does no harm', () => {
    const staged = new StagedNames()
    const change = { add: record(1, 'a') }
    staged.add(change, durable)
    staged.add({ remove: 'b' }, durable)
    staged.clear()
    assert.deepEqual([staged.names(), staged.find('a'), staged.find('b')], [[], undefined, undefined])
    staged.remove(change)
    assert.deepEqual(staged.names(), [])
  })
})

describe('waiting for staged names', () => {
  it('ends at once when no change affects them', async () => {
    assert.equal(await new StagedNames().areDurable(['a', 'b']), true)
    assert.equal(await new StagedNames().areDurable([]), true)
  })

  it('ends only when the changes of all of them are durable', async () => {
    const staged = new StagedNames()
    const writing = Promise.withResolvers<void>()
    staged.add({ remove: 'a' }, durable)
    staged.add({ remove: 'b' }, writing.promise)
    let found: boolean | undefined
    const waiting = staged.areDurable(['a', 'b']).then((areDurable) => {
      found = areDurable
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(found, undefined)
    writing.resolve()
    await waiting
    assert.equal(found, true)
  })

  it('reports when one of the changes is refused, and ignores those of other names', async () => {
    const staged = new StagedNames()
    staged.add({ add: record(1, 'a') }, refused())
    staged.add({ add: record(2, 'b') }, durable)
    assert.equal(await staged.areDurable(['b', 'a']), false)
    assert.equal(await staged.areDurable(['b', 'c']), true)
  })
})
