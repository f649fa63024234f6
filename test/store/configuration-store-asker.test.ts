import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import type { Asker } from '../../src/store/authorship.ts'
import { UPDATES_AT_ONCE_MAX } from '../../src/store/configuration-index.ts'
import type { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { createFailingFiles, holdUp } from '../support/failing-files.ts'
import { draft, names, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const REFUSAL = new Error('not allowed any more')

/** Somebody whose right the test takes away, and how often it was judged. */
function createAsker() {
  const asker = {
    isAllowed: true,
    judged: 0,
    signal: new AbortController().signal,
    checkAgain() {
      asker.judged += 1
      if (!asker.isAllowed) throw REFUSAL
    },
  }
  return asker satisfies Asker
}

/** More than are applied in a moment. */
const many = Array.from({ length: UPDATES_AT_ONCE_MAX + 1 }, (_, i) => draft(`new${i}`))

type Change = (store: ConfigurationStore, asker: Asker) => Promise<unknown>

const changes: Record<string, Change> = {
  'an addition': (store, asker) => store.add(someone, draft('new'), asker),
  'a change': (store, asker) => store.modify(someone, 'here', { port: 1 }, undefined, asker),
  'a replacement': (store, asker) => store.put(someone, draft('here', { port: 1 }), undefined, asker),
  'an addition by put': (store, asker) => store.put(someone, draft('new'), undefined, asker),
  'a removal': (store, asker) => store.remove(someone, 'here', undefined, asker),
  'a small import': (store, asker) => store.importAll(someone, [draft('new')], 'merge', undefined, asker),
  'a large import': (store, asker) => store.importAll(someone, many, 'replace', undefined, asker),
}

/** They write nothing, and so never wait for the disk. */
const ofNothing: Record<string, Change> = {
  'a change of nothing': (store, asker) => store.modify(someone, 'here', {}, undefined, asker),
  'a removal of nothing': (store, asker) => store.remove(someone, 'none', undefined, asker),
}

/** A store with one record. */
async function open(t: TestContext) {
  const folder = await temporaryFolder(t)
  const files = createFailingFiles()
  const { store, close } = await openStore(t, folder, { files })
  await store.add(someone, draft('here'))
  const stored = async () => {
    await close()
    const { store: again } = await openStore(t, folder)
    return again.list(0, again.count).map(({ name, port }) => `${name}:${port}`)
  }
  return { store, files, stored }
}

describe('a change whose asker has lost the right to it', () => {
  for (const [what, change] of Object.entries({ ...changes, ...ofNothing })) {
    it(`is refused, and nothing changes: ${what}`, async (t) => {
      const { store, stored } = await open(t)
      const asker = createAsker()
      asker.isAllowed = false
      const { tag } = store
      await assert.rejects(change(store, asker), REFUSAL)
      assert.equal(store.tag, tag)
      assert.deepEqual(await stored(), ['here:22'])
    })
  }

  for (const [what, change] of Object.entries(changes)) {
    it(`is refused each time it is judged: ${what}`, async (t) => {
      const { store, stored } = await open(t)
      for (let judged = 1; ; judged++) {
        const asker = createAsker()
        const { checkAgain } = asker
        asker.checkAgain = () => {
          asker.isAllowed = asker.judged + 1 < judged
          checkAgain()
        }
        const { tag } = store
        const [outcome] = await Promise.allSettled([change(store, asker)])
        if (outcome.status === 'fulfilled') {
          // When it is decided, and when it is written; an import also when it is planned.
          assert.ok(judged > (what.endsWith('import') ? 4 : 2), `${judged}`)
          break
        }
        assert.equal(outcome.reason, REFUSAL)
        assert.equal(store.tag, tag)
      }
      assert.notDeepEqual(await stored(), ['here:22'])
    })

    it(`is refused when it has waited for the disk: ${what}`, async (t) => {
      const { store, files, stored } = await open(t)
      const asker = createAsker()
      const held = holdUp(files, 'datasync', dataFiles.journal)
      const before = store.add(someone, draft('before'))
      await held.begun
      const refused = assert.rejects(change(store, asker), REFUSAL)
      asker.isAllowed = false
      held.release()
      await Promise.all([before, refused])
      assert.deepEqual(await stored(), ['here:22', 'before:22'])
    })
  }

  it('has those behind it decided without it, in their order', async (t) => {
    const { store, files, stored } = await open(t)
    const asker = createAsker()
    const held = holdUp(files, 'datasync', dataFiles.journal)
    const before = store.add(someone, draft('before'))
    await held.begun
    const refused = assert.rejects(
      store.modify(someone, 'here', { name: 'there' }, undefined, asker),
      REFUSAL,
    )
    // Only the renaming makes these possible, or impossible.
    const behind = [
      store.modify(someone, 'there', { port: 1 }),
      store.add(someone, draft('here')),
      store.add(someone, draft('between')),
      store.add(someone, draft('after')),
      store.remove(someone, 'here'),
      store.put(someone, draft('after', { port: 2 })),
    ]
    asker.isAllowed = false
    held.release()
    await Promise.all([before, refused])
    const outcomes = await Promise.allSettled(behind)
    const codes = outcomes.map((one) => (one.status === 'fulfilled' ? undefined : one.reason.code))
    const none = undefined
    assert.deepEqual(codes, ['unknown_name', 'name_taken', none, none, none, none])
    assert.deepEqual(names(store), ['before', 'between', 'after'])
    // The tag counts the changes that were made: all but those that were refused.
    assert.equal(store.revision, 6)
    assert.deepEqual(await stored(), ['before:22', 'between:22', 'after:2'])
  })

  it('is refused alone when nothing before it is', async (t) => {
    const { store, files } = await open(t)
    const asker = createAsker()
    const held = holdUp(files, 'datasync', dataFiles.journal)
    const adding = ['a', 'b'].map((name) => store.add(someone, draft(name)))
    await held.begun
    const outcomes = [
      store.add(someone, draft('c')),
      store.add(someone, draft('d'), asker),
      store.add(someone, draft('e')),
      store.add(someone, draft('f'), asker),
      store.importAll(someone, [draft('g')], 'merge'),
    ]
    asker.isAllowed = false
    held.release()
    await Promise.all(adding)
    const settled = await Promise.allSettled(outcomes)
    assert.deepEqual(
      settled.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(names(store), ['here', 'a', 'b', 'c', 'e', 'g'])
  })
})
