import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { findHighestId, listChangesAfter } from '../../src/audit/trail-reader.ts'
import { auditFiles, type DataPaths, dataPaths } from '../../src/files/data-folder.ts'
import { LOST_CHANGES_LISTED_MAX } from '../../src/limits.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const store = '0a1b2c3d4e5f60718293a4b5c6d7e8f9'
const other = 'ffffffff4e5f60718293a4b5c6d7e8f9'

const record = (id: number, name = `name ${id}`) => ({ id, name, hostname: 'h', port: 22, username: 'u' })
const tag = (revision: number, of = store) => ({ tag: `${of.slice(0, 8)}-${revision}` })
const added = (revision: number, id: number, of = store) => {
  return JSON.stringify({
    event: 'configuration_added',
    by: 'admin',
    ...tag(revision, of),
    record: record(id),
  })
}
const modified = (revision: number, id: number) => {
  const line = { event: 'configuration_modified', ...tag(revision), id, name: 'before', changed: {} }
  return JSON.stringify(line)
}
const deleted = (revision: number, id: number) =>
  JSON.stringify({ event: 'configuration_deleted', ...tag(revision), record: record(id) })

/** A folder with these lines in each file of the trail, the newest first. */
async function trail(t: TestContext, ...files: (readonly (string | Buffer)[])[]): Promise<DataPaths> {
  const folder = dataPaths(await temporaryFolder(t))
  for (const [i, lines] of files.entries()) {
    const bytes = lines.map((line) => Buffer.concat([Buffer.from(line), Buffer.from('\n')]))
    await writeFile(folder.file(auditFiles[i] ?? 'audit.jsonl'), Buffer.concat(bytes))
  }
  return folder
}

describe('the changes that the audit trail names after a revision', () => {
  it('are empty without a trail', async (t) => {
    const folder = dataPaths(await temporaryFolder(t))
    assert.deepEqual(await listChangesAfter(folder, store, 7), { changes: [], count: 0, revision: 7 })
    assert.equal(await findHighestId(folder), 0)
  })

  it('are those of this store above it, from all files, by rising revision', async (t) => {
    const folder = await trail(
      t,
      [modified(6, 2), deleted(7, 1)],
      [added(3, 3), added(9, 9, other), added(5, 4)],
    )
    assert.deepEqual(await listChangesAfter(folder, store, 3), {
      changes: [
        { revision: 5, kind: 'added', id: 4, name: 'name 4' },
        { revision: 6, kind: 'modified', id: 2, name: 'before' },
        { revision: 7, kind: 'deleted', id: 1, name: 'name 1' },
      ],
      count: 3,
      revision: 7,
    })
  })

  it('reach to the revision of a line that names no record', async (t) => {
    const imported = JSON.stringify({ event: 'configurations_imported', ...tag(2000), added: 1990 })
    const folder = await trail(t, [added(9, 9), imported, JSON.stringify({ event: 'started', ...tag(12) })])
    const { changes, count, revision } = await listChangesAfter(folder, store, 9)
    assert.deepEqual([changes, count, revision], [[], 0, 2000])
  })

  it('are counted, and only the last ones are listed', async (t) => {
    const all = Array.from({ length: 50 }, (_, i) => i + 1)
    const folder = await trail(t, all.map((id) => added(id, id)).reverse())
    const { changes, count } = await listChangesAfter(folder, store, 0)
    assert.equal(count, 50)
    assert.deepEqual(
      changes.map(({ revision }) => revision),
      all.slice(-LOST_CHANGES_LISTED_MAX),
    )
  })

  it('leave out what is damaged, torn, or not a change', async (t) => {
    const nuls = Buffer.alloc(100)
    const folder = await trail(t, [
      added(3, 3).slice(0, -5),
      nuls,
      Buffer.concat([nuls, Buffer.from(added(4, 4))]),
      added(5, 5).replace('"id":5', '"id":"5"'),
      added(6, 6).replace('c3d-6', 'c3d-six'),
      added(7, 7).replace('c3d-7', 'c3d-70000000000000007'),
      `[${added(8, 8)}]`,
      JSON.stringify({ event: 'login_failed', account: `"tag":"0a1b2c3d-99"`, id: 9, name: 'x' }),
      added(9, 9).slice(0, -20),
    ])
    const { changes, revision } = await listChangesAfter(folder, store, 0)
    assert.deepEqual(
      changes.map(({ id }) => id),
      [4],
    )
    assert.equal(revision, 5)
    assert.equal(await findHighestId(folder), 7)
  })

  it('are those before a block that the disk cannot read', async (t) => {
    const folder = await trail(t, [added(3, 3)], [added(2, 2)])
    const files = createFailingFiles()
    failOn(files, 'read', 'audit.jsonl', 'EIO')
    assert.equal((await listChangesAfter({ ...folder, files }, store, 0)).revision, 2)
  })
})

describe('the highest id in the audit trail', () => {
  it('is found in any file, of any store, with or without revisions', async (t) => {
    const old = JSON.stringify({ event: 'configuration_deleted', record: record(40) })
    assert.equal(await findHighestId(await trail(t, [added(3, 3)], [old], [modified(1, 2)])), 40)
    assert.equal(await findHighestId(await trail(t, [added(3, 3), added(1, 50, other)], [old])), 50)
  })

  it('does not come from other events', async (t) => {
    const line = JSON.stringify({ event: 'user_added', id: 99, name: '"event":"configuration_added"' })
    assert.equal(await findHighestId(await trail(t, [line])), 0)
  })
})
