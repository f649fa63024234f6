import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { StorageFullError } from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { LABELS_MAX } from '../../src/limits.ts'
import { listTag } from '../../src/store/list-tag.ts'
import { NameTakenError, StaleListError } from '../../src/store/refusals.ts'
import { holdUp, systemError } from '../support/failing-files.ts'
import { draft, names, openStore, someone } from '../support/store.ts'
import { assertRestoredWhole, file, old, openFilled } from './imported.ts'

describe('an import into a store', () => {
  it('adds new records, modifies those that differ, and leaves the rest', async (t) => {
    const { store } = await openFilled(t)
    const { added, modified, removed, unchanged } = await store.importAll(someone, file, 'merge')
    assert.deepEqual(
      added.map(({ id, name }) => [id, name]),
      [
        [4, 'new'],
        [5, 'also new'],
      ],
    )
    assert.deepEqual(
      modified.map(({ before, after }) => [before.id, before.port, after.id, after.port]),
      [[2, 1, 2, 2]],
    )
    assert.deepEqual([removed, unchanged], [[], 1])
    assert.deepEqual(names(store), ['same', 'other', 'left', 'new', 'also new'])
    assert.equal(store.find('other')?.port, 2)
    assert.equal(store.revision, 3 + 3)
  })

  it('removes records that it does not contain when it replaces', async (t) => {
    const { store, folder, close } = await openFilled(t)
    const { removed } = await store.importAll(someone, file, 'replace')
    assert.deepEqual(
      removed.map(({ name }) => name),
      ['left'],
    )
    const shown = ['same', 'other', 'new', 'also new']
    assert.deepEqual(names(store), shown)
    await close()
    assert.deepEqual(names((await openStore(t, folder)).store), shown)
  })

  it('is tried against what is durable, and other changes meanwhile do no harm', async (t) => {
    const { store, files } = await openFilled(t)
    const held = holdUp(files, 'write', dataFiles.journal)
    const pending = [store.add(someone, draft('new')), store.remove(someone, 'left')]
    await held.begun
    const trying = store.planImport(file, 'replace')
    // Records that the trial has not looked at yet go, and come under another name.
    const meanwhile = [
      store.remove(someone, 'same'),
      store.modify(someone, 'other', { name: 'renamed' }),
      store.add(someone, draft('late')),
    ]
    const { removed, tag } = await trying
    assert.deepEqual([removed.map(({ name }) => name), tag], [['left'], listTag(store.id, 3)])
    held.release()
    await Promise.all([...pending, ...meanwhile])
    assert.deepEqual(names(store), ['renamed', 'new', 'late'])
    const { added, unchanged } = await store.planImport(file, 'replace')
    assert.deepEqual([added.length, unchanged], [3, 1])
  })

  it('is refused if the records are not those that are expected when its turn comes', async (t) => {
    const { store, files } = await openFilled(t)
    const { tag } = await store.planImport(file, 'replace', (found) => found === listTag(store.id, 3))
    assert.equal(tag, store.tag)
    const isSame = (found: string) => found === tag
    const held = holdUp(files, 'write', dataFiles.journal)
    const adding = store.add(someone, draft('unseen'))
    await held.begun
    const refused = assert.rejects(store.importAll(someone, file, 'replace', isSame), StaleListError)
    held.release()
    await Promise.all([adding, refused])
    await assert.rejects(store.planImport(file, 'replace', isSame), StaleListError)
    assert.deepEqual(names(store), ['same', 'other', 'left', 'unseen'])
  })

  it('that expects the records before a change is tried and made if that one is refused', async (t) => {
    const { store, files } = await openFilled(t)
    const { tag } = store
    const isSame = (found: string) => found === tag
    const refuseMeanwhile = async <Done>(begin: () => Done) => {
      const held = holdUp(files, 'write', dataFiles.journal)
      const adding = store.add(someone, draft('unseen'))
      await held.begun
      const begun = begin()
      held.fail(systemError('ENOSPC'))
      await assert.rejects(adding, StorageFullError)
      return begun
    }
    const trials = await refuseMeanwhile(() => [
      store.planImport(file, 'replace'),
      store.planImport(file, 'replace', isSame),
    ])
    // The revision of a change that never was is the next one's.
    for (const { removed, tag: tried } of await Promise.all(trials))
      assert.deepEqual([removed.map(({ name }) => name), tried], [['left'], tag])
    const { removed, tag: made } = await refuseMeanwhile(() =>
      store.importAll(someone, file, 'replace', isSame),
    )
    assert.deepEqual([removed.length, made, store.revision], [1, listTag(store.id, 7), 7])
    assert.equal(made, store.tag)
  })

  it('returns the tag of the records that it made, not that of the changes behind it', async (t) => {
    const { store, files } = await openFilled(t)
    const held = holdUp(files, 'write', dataFiles.journal)
    const importing = store.importAll(someone, file, 'merge')
    await held.begun
    const behind = store.add(someone, draft('behind'))
    held.release()
    assert.equal((await importing).tag, listTag(store.id, 6))
    await behind
    assert.equal(store.revision, 7)
    assert.equal((await store.importAll(someone, file, 'merge')).tag, listTag(store.id, 7))
  })

  it('can be previewed without writing anything', async (t) => {
    const { store, files } = await openFilled(t)
    files.calls.length = 0
    const { added, modified, removed, unchanged } = await store.planImport(file, 'replace')
    assert.deepEqual([added.length, modified.length, removed.length, unchanged], [2, 1, 1, 1])
    assert.deepEqual([files.calls, names(store)], [[], ['same', 'other', 'left']])
  })

  it('writes nothing when nothing differs', async (t) => {
    const { store, files } = await openFilled(t)
    files.calls.length = 0
    assert.equal((await store.importAll(someone, old, 'replace')).unchanged, 3)
    assert.deepEqual([files.calls, store.revision], [[], 3])
  })

  it('is one frame and one sync, however many changes it has', async (t) => {
    const { store, files, folder } = await openFilled(t)
    files.calls.length = 0
    const many = Array.from({ length: 5_000 }, (_, i) => draft(`n${i}`))
    const held = holdUp(files, 'write', dataFiles.journal)
    const importing = store.importAll(someone, many, 'merge')
    await held.begun
    const behind = store.add(someone, draft('behind'))
    held.release()
    await Promise.all([importing, behind])
    assert.equal(files.calls.filter((call) => call.startsWith('datasync')).length, 2)
    const lines = (await readFile(join(folder, dataFiles.journal), 'utf8')).trimEnd().split('\n')
    assert.equal(lines.length, 1 + 3 + 2)
    assert.equal(lines.at(-2)?.match(/"add"/g)?.length, 5_000)
    assert.equal(store.count, 3 + 5_000 + 1)
  })

  it('is decided again for what has changed before its turn, and those behind it for what it did', async (t) => {
    const { store, files } = await openFilled(t)
    const held = holdUp(files, 'write', dataFiles.journal)
    const before = [
      store.add(someone, draft('new', { port: 9 })),
      store.remove(someone, 'left'),
      store.modify(someone, 'same', { name: 'renamed' }),
    ]
    await held.begun
    const importing = store.importAll(someone, file, 'replace')
    const heldAgain = holdUp(files, 'write', dataFiles.journal)
    held.release()
    await heldAgain.begun
    const taken = assert.rejects(store.add(someone, draft('also new')), NameTakenError)
    heldAgain.release()
    const { added, modified, removed, unchanged } = await importing
    await Promise.all([...before, taken])
    assert.deepEqual(
      added.map(({ name, id }) => [name, id]),
      [
        ['same', 5],
        ['also new', 6],
      ],
    )
    assert.deepEqual(
      modified.map(({ after }) => after.name),
      ['new', 'other'],
    )
    assert.deepEqual([removed.map(({ name }) => name), unchanged], [['renamed'], 0])
    assert.deepEqual(names(store).sort(), file.map(({ name }) => name).sort())
    assert.equal(new Set(store.list(0, 9).map(({ id }) => id)).size, 4)
  })

  it('does not report a record as unchanged while its change is pending, and makes the change if that one is refused', async (t) => {
    const { store, files } = await openFilled(t)
    const held = holdUp(files, 'write', dataFiles.journal)
    const adding = store.add(someone, draft('new'))
    await held.begun
    const importing = store.importAll(someone, [draft('new')], 'merge')
    held.fail(systemError('ENOSPC'))
    await assert.rejects(adding, StorageFullError)
    assert.deepEqual(
      (await importing).added.map(({ name }) => name),
      ['new'],
    )
    assert.deepEqual(names(store), ['same', 'other', 'left', 'new'])
  })

  it('is restored completely or not at all when its frame is cut anywhere', (t) => assertRestoredWhole(t, 50))

  it('changes nothing when the disk is full half-way, and succeeds when there is room', async (t) => {
    const { store, files, folder } = await openFilled(t)
    const journal = join(folder, dataFiles.journal)
    const before = await readFile(journal)
    files.writeBytesMax = 50
    let written = 0
    files.before = (operation) => {
      if (operation === 'write' && ++written === 3) throw systemError('ENOSPC')
    }
    await assert.rejects(store.importAll(someone, file, 'replace'), StorageFullError)
    assert.deepEqual(names(store), ['same', 'other', 'left'])
    assert.deepEqual(await readFile(journal), before)
    await store.importAll(someone, file, 'replace')
    assert.equal(store.count, 4)
  })

  it('is decided again when it would have too many labels by changes that are then refused', async (t) => {
    const { store, files } = await openFilled(t)
    await store.modify(someone, 'same', { labelsPatch: { first: 'x' } })
    const others = Object.fromEntries(Array.from({ length: LABELS_MAX - 1 }, (_, i) => [`k${i}`, 'x']))
    const held = holdUp(files, 'write', dataFiles.journal)
    const changing = assert.rejects(store.modify(someone, 'same', { labelsPatch: others }), StorageFullError)
    await held.begun
    const importing = store.importAll(someone, [{ ...draft('same'), labelsPatch: { more: 'x' } }], 'merge')
    held.fail(systemError('ENOSPC'))
    await changing
    assert.equal((await importing).modified.length, 1)
    assert.deepEqual(store.find('same')?.labels, { first: 'x', more: 'x' })
  })

  it('is not lost when a snapshot begins while it is applied', async (t) => {
    const { store, folder, close, log } = await openFilled(t, 512 * 1024)
    const username = 'u'.repeat(255)
    const many = Array.from({ length: 3_000 }, (_, i) => draft(`n${i}`, { username }))
    await store.importAll(someone, many, 'merge')
    await close()
    assert.ok(log.events.includes('snapshot_written'))
    assert.equal((await openStore(t, folder)).store.count, 3_003)
  })
})
