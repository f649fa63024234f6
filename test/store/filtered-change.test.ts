import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  InvalidInputError,
  MemoryFullError,
  NotGrantedError,
  StorageFullError,
  TooManyChangesError,
} from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { FAULTS_MAX, IMPORT_ROWS_MAX, LABELS_MAX } from '../../src/limits.ts'
import { FileChangeLog } from '../../src/storage/file/file-change-log.ts'
import type { Asker } from '../../src/store/authorship.ts'
import { planOf as planOfBulk } from '../../src/store/bulk-change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import type { ConfigurationStore } from '../../src/store/configuration-store.ts'
import {
  countMatched,
  type FilteredChange,
  filteredChange,
  TooManyAffectedError,
} from '../../src/store/filtered-change.ts'
import { StaleListError } from '../../src/store/refusals.ts'
import { createFailingFiles, failOn, holdUp, systemError } from '../support/failing-files.ts'
import { draft, names, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const prefixed = (prefix: string, more: Partial<FilteredChange> = {}) =>
  filteredChange({
    matches: ({ name }) => name.startsWith(prefix),
    query: `prefix=${prefix}`,
    patch: { port: 2222 },
    ...more,
  })
const all = (more: Partial<FilteredChange> = {}) => prefixed('', { query: 'all=1', ...more })
const ports = (store: ConfigurationStore) => [...store.freeze()].map(({ name, port }) => `${name} ${port}`)

describe('a change of what a filter keeps', () => {
  const open = async (t: TestContext, ...stored: string[]) => {
    const folder = await temporaryFolder(t)
    const files = createFailingFiles()
    const opened = await openStore(t, folder, { files })
    for (const name of stored) await opened.store.add(someone, draft(name))
    return { ...opened, folder, files }
  }

  it('changes those records, or removes them', async (t) => {
    const { store } = await open(t, 'a1', 'b', 'a2')
    const done = await store.changeTogether(someone, prefixed('a'))
    assert.deepEqual([countMatched(done), done.modified.length, done.tag], [2, 2, store.tag])
    assert.deepEqual(ports(store), ['a1 2222', 'b 22', 'a2 2222'])
    const again = await store.changeTogether(someone, all())
    assert.deepEqual([countMatched(again), again.modified.length, again.unchanged], [3, 1, 2])
    const removed = await store.changeTogether(someone, prefixed('a', { patch: undefined }))
    assert.deepEqual([countMatched(removed), removed.removed.length], [2, 2])
    assert.deepEqual(names(store), ['b'])
  })

  it('is decided again for changes that are made before its turn; a trial tells of what is durable', async (t) => {
    const { store, files } = await open(t, 'a1', 'a2')
    const held = holdUp(files, 'write', dataFiles.journal)
    const pending = [
      store.add(someone, draft('a3')),
      store.remove(someone, 'a1'),
      store.modify(someone, 'a2', { name: 'b' }),
    ]
    await held.begun
    const trying = store.planTogether(prefixed('a'))
    const making = store.changeTogether(someone, prefixed('a'))
    held.release()
    const found = (await Promise.all([trying, making])).map(({ modified }) =>
      modified.map(({ before }) => before.name),
    )
    assert.deepEqual(found, [['a1', 'a2'], ['a3']])
    await Promise.all(pending)
    assert.deepEqual(ports(store), ['b 22', 'a3 2222'])
  })

  it('is decided again when what was on its way is refused', async (t) => {
    const { store, files } = await open(t, 'a1')
    const held = holdUp(files, 'write', dataFiles.journal)
    const adding = store.add(someone, draft('a2'))
    await held.begun
    const making = store.changeTogether(someone, prefixed('a', { patch: { port: 22 } }))
    held.fail(systemError('ENOSPC'))
    await assert.rejects(adding, StorageFullError)
    assert.equal(countMatched(await making), 1)
    await store.changeTogether(someone, all())
    assert.deepEqual(ports(store), ['a1 2222'])
  })

  it('changes nothing on a full disk', async (t) => {
    const { store, files, folder, close } = await open(t, 'a1', 'a2')
    failOn(files, 'write', dataFiles.journal, 'ENOSPC')
    await assert.rejects(store.changeTogether(someone, all()), StorageFullError)
    assert.deepEqual(ports(store), ['a1 22', 'a2 22'])
    await close()
    assert.deepEqual(ports((await openStore(t, folder)).store), ['a1 22', 'a2 22'])
  })

  it('is refused if the records are not those that are expected, when its turn comes', async (t) => {
    const { store, files } = await open(t, 'a1', 'a2')
    const { tag } = await store.planTogether(all())
    const isSame = (found: string) => found === tag
    const held = holdUp(files, 'write', dataFiles.journal)
    const changing = store.changeTogether(someone, all(), isSame)
    await held.begun
    const late = store.changeTogether(someone, all({ patch: undefined }), isSame)
    const refused = assert.rejects(late, StaleListError)
    held.release()
    await Promise.all([changing, refused])
    await assert.rejects(store.planTogether(all(), isSame), StaleListError)
    assert.deepEqual(ports(store), ['a1 2222', 'a2 2222'])
  })

  it('is refused beyond the most that may be affected, before anything else', async (t) => {
    const { store } = await open(t, 'a1', 'a2')
    const labelsPatch = Object.fromEntries(Array.from({ length: LABELS_MAX + 1 }, (_, i) => [`k${i}`, '']))
    const patch = { labelsPatch }
    await assert.rejects(store.changeTogether(someone, all({ patch, affectedMax: 1 })), TooManyAffectedError)
    await assert.rejects(store.changeTogether(someone, all({ patch, affectedMax: 2 })), InvalidInputError)
    await store.changeTogether(someone, all({ affectedMax: 2 }))
    assert.deepEqual(ports(store), ['a1 2222', 'a2 2222'])
  })

  it('is there after a kill, as a whole', async (t) => {
    const { store, folder } = await open(t, 'a1', 'a2', 'a3')
    const before = ports(store)
    const states: string[][] = []
    let isDone = false
    const making = store.changeTogether(someone, all()).finally(() => {
      isDone = true
    })
    while (!isDone) {
      const copy = join(await temporaryFolder(t), 'copy')
      await cp(join(folder, dataFiles.journal), join(copy, dataFiles.journal))
      const killed = await openStore(t, copy)
      states.push(ports(killed.store))
      await killed.close()
      await nextTurn()
    }
    await making
    for (const state of states) assert.ok([before, ports(store)].some((whole) => `${whole}` === `${state}`))
  })
})

describe('a change of what a filter keeps, in its turn', () => {
  const open = async (t: TestContext) => {
    const { store } = await openStore(t, await temporaryFolder(t))
    for (const name of ['a1', 'a2', 'b1']) await store.add(someone, draft(name))
    const commit = t.mock.method(FileChangeLog.prototype, 'commit')
    return { store, commits: () => commit.mock.callCount() }
  }
  const limitedTo = (...grants: string[]) => ({ principal: { grants } }) as unknown as Asker

  it('takes no turn while it finds nothing, or what it may not change', async (t) => {
    const { store, commits } = await open(t)
    const nothing = await store.changeTogether(someone, prefixed('c'))
    assert.deepEqual([countMatched(nothing), nothing.tag], [0, store.tag])
    const same = await store.changeTogether(someone, all({ patch: { port: 22 } }))
    assert.equal(same.unchanged, 3)
    const asker = limitedTo('read', 'write?prefix=zz/')
    await assert.rejects(store.changeTogether(someone, all(), undefined, asker), NotGrantedError)
    await assert.rejects(
      store.changeTogether(someone, all(), () => false),
      StaleListError,
    )
    assert.equal(commits(), 0)
  })

  it('does not look again at its turn if no record has changed since it looked', async (t) => {
    const { store, commits } = await open(t)
    let looks = 0
    const matches = ({ name }: Configuration) => {
      looks += 1
      return name.startsWith('a')
    }
    const { modified, tag } = await store.changeTogether(someone, all({ matches }))
    assert.deepEqual([modified.length, looks, commits(), tag], [2, 3, 1, store.tag])
    assert.deepEqual(ports(store), ['a1 2222', 'a2 2222', 'b1 22'])
  })

  it('is made of the records as they are at its turn, whatever it found before', async (t) => {
    const { store, commits } = await open(t)
    const asked: string[] = []
    let adding: Promise<unknown> | undefined
    const matches = ({ name }: Configuration) => {
      adding ??= store.add(someone, draft('a3'))
      asked.push(name)
      return name.startsWith('a')
    }
    const { modified } = await store.changeTogether(someone, all({ matches }))
    await adding
    assert.deepEqual([modified.length, commits()], [3, 2])
    // The others are not looked at again.
    assert.deepEqual(asked, ['a1', 'a2', 'b1', 'a3'])
    assert.deepEqual(ports(store), ['a1 2222', 'a2 2222', 'b1 22', 'a3 2222'])
  })

  it('asks its filter only about what the asker sees', async (t) => {
    const { store } = await open(t)
    const asked: string[] = []
    const matches = ({ name }: Configuration) => asked.push(name) > 0
    await store.changeTogether(someone, all({ matches }), undefined, limitedTo('write?prefix=b'))
    assert.deepEqual([...new Set(asked)], ['b1'])
    assert.deepEqual(ports(store), ['a1 22', 'a2 22', 'b1 2222'])
  })
})

describe('the plan of a change of what a filter keeps', () => {
  const recordsOf = (count: number) =>
    Array.from({ length: count }, (_, i) => new Configuration(i + 1, draft(`n${i}`)))
  const planOf = (change: Partial<FilteredChange>, records: readonly Configuration[], memoryMax?: number) => {
    const stored = { records, find: () => undefined, lastId: records.length }
    return planOfBulk(all(change), memoryMax === undefined ? stored : { ...stored, memoryMax })
  }

  it('names the first records that would become invalid', () => {
    const labelsPatch = Object.fromEntries(Array.from({ length: LABELS_MAX + 1 }, (_, i) => [`k${i}`, '']))
    assert.throws(
      () => planOf({ patch: { labelsPatch } }, recordsOf(FAULTS_MAX + 5)),
      (error: InvalidInputError) => {
        assert.equal(error.faults.length, FAULTS_MAX)
        assert.deepEqual(error.faults[0], {
          field: 'labels',
          detail: 'must be at most 32; these are 33',
          name: 'n0',
        })
        return true
      },
    )
  })

  it('is refused beyond the most changes of an import, where those that change nothing do not count', () => {
    const count = IMPORT_ROWS_MAX + 1
    const records = recordsOf(count)
    assert.throws(() => planOf({ patch: undefined }, records), TooManyChangesError)
    assert.equal(planOf({ patch: {} }, records).unchanged, count)
    assert.throws(() => planOf({ patch: undefined, affectedMax: count - 1 }, records), {
      message: /keep 250001 records, more than/,
    })
  })

  it('is refused if what it makes needs too much memory at once', () => {
    assert.throws(
      () => planOf({}, recordsOf(100), 1_000),
      (error: Error) => {
        assert.ok(error instanceof MemoryFullError)
        assert.match(
          error.message,
          /^Cannot change the records: they need more than 0 MiB .*; narrow the filters, or/,
        )
        return true
      },
    )
    assert.equal(planOf({ patch: undefined }, recordsOf(100), 1_000).removed.length, 100)
  })
})
