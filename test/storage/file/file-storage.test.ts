import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { DamagedFileError } from '../../../src/errors.ts'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { CHANGE_VERSION } from '../../../src/store/change.ts'
import { draft, names, openStore, someone } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { type FolderState, writeState } from './folder-state.ts'

describe('opening a folder', () => {
  const wholeStates: [string, string, FolderState][] = [
    ['with a journal alone', 'abcdef', { journal: { after: 0, adds: 'abcdef' } }],
    ['with nothing in the journal yet', '', { journal: { after: 0, adds: '' } }],
    [
      'left after the journal was renamed and before the new one began',
      'abc',
      { old: { after: 0, adds: 'abc' } },
    ],
    [
      'left before the snapshot',
      'abcdef',
      { old: { after: 0, adds: 'abc' }, journal: { after: 3, adds: 'def' } },
    ],
    [
      'left before the old journal was removed',
      'abcdef',
      { snapshot: { adds: 'abcde' }, old: { after: 0, adds: 'abc' }, journal: { after: 3, adds: 'def' } },
    ],
    ['left after compaction', 'abcdef', { snapshot: { adds: 'abc' }, journal: { after: 3, adds: 'def' } }],
    [
      'with a snapshot of everything',
      'abcdef',
      { snapshot: { adds: 'abcdef' }, journal: { after: 3, adds: 'def' } },
    ],
    ['left between two compactions', 'abcde', { snapshot: { adds: 'abc' }, old: { after: 2, adds: 'cde' } }],
    [
      'with a refused change at the end of the old journal',
      'abcdef',
      { old: { after: 0, adds: 'abcx' }, journal: { after: 3, adds: 'def' } },
    ],
  ]
  for (const [name, expected, state] of wholeStates) {
    it(`${name} finds everything, twice, and accepts more changes`, async (t) => {
      const folder = await temporaryFolder(t)
      await writeState(folder, state)
      for (const round of [1, 2]) {
        const { store, close } = await openStore(t, folder, { mustExist: true })
        assert.equal(names(store).join(''), expected, `round ${round}`)
        assert.equal(store.revision, expected.length)
        assert.equal(store.id, 's')
        await close()
      }
      const { store, close } = await openStore(t, folder)
      assert.equal((await store.add(someone, draft('later'))).id, expected.length + 1)
      await close()
      const reopened = await openStore(t, folder)
      assert.equal(names(reopened.store).join(''), `${expected}later`)
    })
  }

  const abc = { after: 0, adds: 'abc' }
  const def = { after: 3, adds: 'def' }
  const damagedStates: [string, string, FolderState][] = [
    ['nothing in a folder that was in use', 'journal.jsonl', {}],
    ['a snapshot with a name twice', 'snapshot.json', { snapshot: { adds: 'aba' }, journal: def }],
    ['a snapshot without a journal', 'journal.jsonl', { snapshot: { adds: 'abc' } }],
    ['a later journal without its snapshot', 'journal.jsonl', { journal: def }],
    ['an older snapshot than the journal needs', 'journal.jsonl', { snapshot: { adds: 'ab' }, journal: def }],
    ['a gap between the journals', 'journal.jsonl', { old: { after: 0, adds: 'ab' }, journal: def }],
    ['a later old journal without its snapshot', 'journal.old.jsonl', { old: def }],
    [
      'a journal that ends before its snapshot',
      'journal.jsonl',
      { snapshot: { adds: 'abcde' }, journal: abc },
    ],
    [
      'a snapshot of changes whose journal is missing',
      'journal.jsonl',
      { snapshot: { adds: 'abcde' }, old: abc },
    ],
    ['a snapshot of another store', 'journal.jsonl', { snapshot: { adds: 'abc', store: 'x' }, journal: def }],
    ['a journal of another store', 'journal.jsonl', { old: abc, journal: { ...def, store: 'x' } }],
    [
      'an old journal of another store',
      'journal.old.jsonl',
      { snapshot: { adds: 'abc' }, old: { ...abc, store: 'x' }, journal: def },
    ],
    ['a name that is added twice', 'journal.jsonl', { journal: { after: 0, adds: 'aa' } }],
  ]
  for (const [name, damaged, state] of damagedStates) {
    it(`stops at ${name}`, async (t) => {
      const folder = await temporaryFolder(t)
      await writeState(folder, state)
      await assert.rejects(openStore(t, folder, { mustExist: true }), (error) => {
        assert.ok(error instanceof DamagedFileError, String(error))
        assert.equal(error.path, join(folder, damaged))
        return true
      })
    })
  }

  const record = (id: number, name: string) => ({ id, ...draft(name) })
  const misfits: [string, unknown[]][] = [
    ['is no change', [{}]],
    ['is no object', ['add']],
    ['adds no record', [{ add: { id: 1, name: 'a' } }]],
    ['reuses an id', [{ add: record(1, 'a') }, { remove: 'a' }, { add: record(1, 'b') }]],
    ['removes an absent record', [{ remove: 'a' }]],
    ['modifies an absent record', [{ modify: record(1, 'b'), name: 'a' }]],
    ['modifies a record under another id', [{ add: record(1, 'a') }, { modify: record(2, 'a'), name: 'a' }]],
    [
      'takes a taken name',
      [{ add: record(1, 'a') }, { add: record(2, 'b') }, { modify: record(2, 'a'), name: 'b' }],
    ],
  ]
  for (const [name, changes] of misfits) {
    it(`stops at a change that ${name}`, async (t) => {
      const folder = await temporaryFolder(t)
      const { bytes } = encodeJournalStart({ store: 's', after: 0, version: CHANGE_VERSION }, changes)
      await writeFile(join(folder, 'journal.jsonl'), bytes)
      await assert.rejects(openStore(t, folder), DamagedFileError)
    })
  }

  it('that is new creates a store with its own id', async (t) => {
    const stores = await Promise.all([1, 2].map(async () => openStore(t, await temporaryFolder(t))))
    assert.match(stores[0]?.store.id ?? '', /^[0-9a-f]{32}$/)
    assert.notEqual(stores[0]?.store.id, stores[1]?.store.id)
  })
})
