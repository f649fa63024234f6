import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IMPORT_TRIES_MAX, OVERTAKEN_MS_MAX, SharedChanges } from '../../src/cluster/shared-changes.ts'
import { OvertakenError, StorageUnavailableError } from '../../src/errors.ts'
import { Scheduler } from '../../src/scheduler.ts'
import type { Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { ConfigurationIndex } from '../../src/store/configuration-index.ts'
import { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { filteredChange } from '../../src/store/filtered-change.ts'
import { amountOf, recordMemory } from '../../src/store/record-room.ts'
import { Records } from '../../src/store/records.ts'
import { NameTakenError, StaleListError, UnknownNameError } from '../../src/store/refusals.ts'
import { draft, someone } from '../support/store.ts'

/** A store whose log is this test: other nodes do what it says, before a change or when the index catches up. */
function sharedStore(recordBytesMax = Number.POSITIVE_INFINITY) {
  const other = {
    /** Runs before the next change is made; gives true if it was overtaken. */
    beforeChange: (): boolean => false,
    onCatchUp: () => {},
    elapsedMs: 0,
    catchUps: 0,
    isOpen: Promise.resolve(),
  }
  let revision = 0
  const scheduler = new Scheduler()
  const records = new Records(new ConfigurationIndex(), scheduler)
  const apply = (...changes: Change[]) => records.applyAt(++revision, changes)
  const make = async (changes: readonly Change[]) => {
    await other.isOpen
    if (other.beforeChange()) throw new OvertakenError()
    const { lastId } = records.index
    const made = changes.map((change, i) =>
      'add' in change ? { ...change, add: new Configuration(lastId + i + 1, change.add) } : change,
    )
    apply(...made)
    return made
  }
  const log = {
    store: 'shared00-0000',
    isWritable: true,
    metrics: [],
    async append(change: Change) {
      const [made] = await make([change])
      return made ?? assert.fail('nothing was made')
    },
    async appendTogether(changes: readonly Change[], at: number) {
      assert.equal(at, records.index.revision)
      await make(changes)
      return revision
    },
    async catchUp() {
      other.catchUps += 1
      other.onCatchUp()
    },
    close: async () => {},
  }
  const changes = new SharedChanges(records, log, scheduler, recordBytesMax, () => other.elapsedMs)
  const store = new ConfigurationStore(records, log, changes)
  return { store, other, apply }
}

const record = (id: number, name: string) => new Configuration(id, draft(name))

describe('changes of a shared store', () => {
  it('are refused if they need memory that this process has not', async () => {
    const { store } = sharedStore(1.5 * recordMemory(amountOf(record(1, 'a'))))
    await store.add(someone, draft('a'))
    const full = { code: 'memory_full' }
    await assert.rejects(() => store.add(someone, draft('b')), full)
    await assert.rejects(() => store.importAll(someone, [draft('b')], 'merge'), full)
    await assert.rejects(() => store.planImport([draft('b')], 'merge'), full)
    await store.remove(someone, 'a')
    await store.add(someone, draft('b'))
    assert.deepEqual(
      [...store.list(0, 9)].map(({ name }) => name),
      ['b'],
    )
  })

  it('get the id that the log gives, and resolve once the records show them', async () => {
    const { store, apply } = sharedStore()
    apply({ add: record(7, 'theirs') })
    assert.equal((await store.add(someone, draft('mine'))).id, 8)
    assert.equal(store.find('mine')?.id, 8)
  })

  it('are decided again when another node was faster, for what is there then', async () => {
    const { store, other, apply } = sharedStore()
    other.beforeChange = () => {
      other.beforeChange = () => false
      apply({ add: record(1, 'a') })
      return true
    }
    await assert.rejects(store.add(someone, draft('a')), (error) => {
      assert.ok(error instanceof NameTakenError)
      assert.equal(error.holder?.id, 1)
      return true
    })
    other.beforeChange = () => {
      other.beforeChange = () => false
      apply({ modify: new Configuration(1, draft('a', { port: 5 })), name: 'a' })
      return true
    }
    const { before, after } = await store.modify(someone, 'a', { username: 'new' })
    assert.deepEqual([before.port, after.port, after.username], [5, 5, 'new'])
  })

  it('are refused only after the index has caught up', async () => {
    const { store, other, apply } = sharedStore()
    other.onCatchUp = () => {
      other.onCatchUp = () => {}
      apply({ add: record(1, 'late') })
    }
    assert.equal((await store.remove(someone, 'late')).id, 1)
    assert.equal(other.catchUps, 1)
    await assert.rejects(store.remove(someone, 'late'), UnknownNameError)
    assert.equal(other.catchUps, 2)
  })

  it('that change nothing say so only after the index has caught up', async () => {
    const { store, other, apply } = sharedStore()
    apply({ add: record(1, 'a') })
    other.onCatchUp = () => {
      other.onCatchUp = () => {}
      apply({ modify: new Configuration(1, draft('a', { port: 9 })), name: 'a' })
    }
    const { after } = await store.modify(someone, 'a', { port: draft('a').port })
    assert.equal(after.port, draft('a').port)
    assert.equal(store.find('a')?.port, draft('a').port)
  })

  it('of one name wait for each other, those of other names do not', async () => {
    const { store, other } = sharedStore()
    const gate = Promise.withResolvers<void>()
    other.isOpen = gate.promise
    const first = store.add(someone, draft('a'))
    const second = store.put(someone, draft('a', { port: 3 }))
    other.isOpen = Promise.resolve()
    await store.add(someone, draft('b'))
    assert.equal(store.find('a'), undefined)
    gate.resolve()
    assert.equal((await first).id, 2)
    const { before, after } = await second
    assert.deepEqual([before?.id, after.port], [2, 3])
  })

  it('are given up when others are faster again and again', async () => {
    const { store, other } = sharedStore()
    other.beforeChange = () => {
      other.elapsedMs += OVERTAKEN_MS_MAX / 4
      return true
    }
    await assert.rejects(store.add(someone, draft('a')), StorageUnavailableError)
    assert.equal(other.elapsedMs, OVERTAKEN_MS_MAX)
  })

  it('of an import are planned anew after any other change, a few times', async () => {
    const { store, other, apply } = sharedStore()
    apply({ add: record(1, 'left') })
    let tries = 0
    other.beforeChange = () => {
      tries += 1
      if (tries > 2) return false
      apply({ add: record(10 * store.revision + 100, `other${tries}`) })
      return true
    }
    const plan = await store.importAll(someone, [draft('a')], 'replace')
    assert.deepEqual(
      [plan.removed.map(({ name }) => name), plan.tag],
      [['left', 'other1', 'other2'], store.tag],
    )
    tries = -IMPORT_TRIES_MAX
    await assert.rejects(store.importAll(someone, [draft('b')], 'merge'), StorageUnavailableError)
    assert.equal(store.find('b'), undefined)
  })

  it('of what a filter keeps are planned for the latest records, and made as a whole', async () => {
    const { store, other, apply } = sharedStore()
    await store.add(someone, draft('a'))
    other.onCatchUp = () => {
      other.onCatchUp = () => {}
      apply({ add: record(2, 'unseen') })
    }
    const change = { matches: () => true, query: 'all=1', affectedMax: 2 }
    const done = await store.changeTogether(someone, filteredChange({ ...change, patch: { port: 7 } }))
    assert.deepEqual([done.modified.length, done.tag], [2, store.tag])
    assert.deepEqual(
      store.list(0, 9).map(({ name, port }) => [name, port]),
      [
        ['a', 7],
        ['unseen', 7],
      ],
    )
    const tried = await store.planTogether(filteredChange({ ...change, patch: undefined }))
    assert.deepEqual([tried.removed.length, store.count], [2, 2])
    await store.changeTogether(someone, filteredChange({ ...change, patch: undefined }))
    assert.equal(store.count, 0)
  })

  it('of an import are refused if the records are not those that are expected', async () => {
    const { store, other, apply } = sharedStore()
    const { tag } = await store.planImport([draft('a')], 'merge')
    const isSame = (found: string) => found === tag
    other.onCatchUp = () => {
      other.onCatchUp = () => {}
      apply({ add: record(1, 'unseen') })
    }
    await assert.rejects(store.importAll(someone, [draft('a')], 'replace', isSame), StaleListError)
    await assert.rejects(store.planImport([draft('a')], 'replace', isSame), StaleListError)
  })
})

describe('a shared store', () => {
  it('shows all changes of one revision at once, and counts revisions without one', async () => {
    const { store, apply } = sharedStore()
    const seen: (readonly [string, number, number])[] = []
    store.onDurable((change, revision) => {
      if ('add' in change) seen.push([change.add.name, revision, store.count])
    })
    apply({ add: record(1, 'a') }, { add: record(2, 'b') })
    apply()
    assert.deepEqual(
      [seen, store.revision, store.recent.revision],
      [
        [
          ['a', 1, 2],
          ['b', 1, 2],
        ],
        2,
        2,
      ],
    )
    assert.equal(store.catchUp() instanceof Promise, true)
  })
})

describe('a change of a shared store whose asker has lost the right to it', () => {
  const refusal = new Error('not allowed any more')
  const refuse = () => {
    throw refusal
  }
  const signal = new AbortController().signal

  it('is refused when it is decided, and never sent', async () => {
    const { store, other } = sharedStore()
    await store.add(someone, draft('here'))
    other.beforeChange = () => assert.fail('it was sent')
    const asker = { signal, checkAgain: refuse }
    for (const change of [
      store.add(someone, draft('new'), asker),
      store.modify(someone, 'here', { port: 1 }, undefined, asker),
      store.put(someone, draft('here', { port: 1 }), undefined, asker),
      store.remove(someone, 'none', undefined, asker),
      store.importAll(someone, [draft('new')], 'replace', undefined, asker),
    ])
      await assert.rejects(change, refusal)
    assert.deepEqual([store.count, store.find('here')?.port], [1, 22])
  })

  it('is refused when it is decided again, because another was faster', async () => {
    const { store, other } = sharedStore()
    const asker = { signal, checkAgain: () => {} }
    other.beforeChange = () => {
      asker.checkAgain = refuse
      return true
    }
    await assert.rejects(store.add(someone, draft('new'), asker), refusal)
    asker.checkAgain = () => {}
    await assert.rejects(store.importAll(someone, [draft('new')], 'merge', undefined, asker), refusal)
    assert.equal(store.count, 0)
  })

  it('is shown by a dry run as its asker may make it in the end', async () => {
    const { store } = sharedStore()
    await store.add(someone, draft('a/one'))
    await store.add(someone, draft('b/one'))
    const rights = (...grants: readonly string[]) =>
      ({ kind: 'client', name: 'team', scope: 'write', grants }) as const
    const asker = {
      signal,
      principal: rights('read', 'write?prefix=a%2F'),
      checkAgain() {
        asker.principal = rights('write?prefix=a%2F')
      },
    }
    const change = filteredChange({ matches: () => true, query: 'all=1', patch: { port: 1 } })
    const { modified } = await store.planTogether(change, undefined, asker)
    assert.deepEqual(
      modified.map(({ after }) => after.name),
      ['a/one'],
    )
  })
})
