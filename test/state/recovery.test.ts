import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { appendFile, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { type DataPaths, dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { examineFolder } from '../../src/state/examination.ts'
import {
  describeRecovery,
  findRecovery,
  NewerFolderError,
  type Recovery,
  recoverState,
} from '../../src/state/recovery.ts'
import { newerVersion } from '../faults/damage/damage-kinds.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { smallBackup, smallFolder } from './small-backup.ts'

/** The state of `smallBackup` in a folder: records 3 and 5 up to revision 9, last id 7; then 8 to 10 are added. */
async function usedFolder(t: TestContext): Promise<{ folder: DataPaths; store: string }> {
  const folder = dataPaths(await smallFolder(t))
  const opened = await openStore(t, folder.path, { mustExist: true })
  for (const name of ['f', 'g', 'h']) await opened.store.add(someone, draft(name))
  await opened.close()
  const header = await readFile(folder.file(dataFiles.journal), 'utf8')
  return { folder, store: /"store":"([0-9a-f]+)"/.exec(header)?.[1] ?? assert.fail(header) }
}

/** Adds lines to the trail that name additions: by revision, the id. */
async function nameInTrail(
  { folder, store }: { folder: DataPaths; store: string },
  ids: Record<number, number>,
) {
  for (const [revision, id] of Object.entries(ids)) {
    const tag = `${store.slice(0, 8)}-${revision}`
    const line = { event: 'configuration_added', tag, record: { id, ...draft(`name ${id}`) } }
    await appendFile(folder.file('audit.jsonl'), `${JSON.stringify(line)}\n`, { mode: 0o600 })
  }
}

/** Cuts lines off the end of the journal, as if they had never been written. */
async function cutJournal(folder: DataPaths, lines: number) {
  const path = folder.file(dataFiles.journal)
  const kept = (await readFile(path, 'utf8')).split('\n').slice(0, -1 - lines)
  await writeFile(path, `${kept.join('\n')}\n`)
}

async function getRecovery(folder: DataPaths): Promise<Recovery> {
  return (await findRecovery(folder)) ?? assert.fail('the folder is sound')
}

/** Recovers the folder, checks that it is sound then, and returns names and next id. */
async function recovered(t: TestContext, folder: DataPaths) {
  const recovery = await getRecovery(folder)
  const aside = await recoverState(folder, recovery, recovery.accounts ?? { ...smallBackup, madeUp: {} })
  const { findings } = await examineFolder(folder)
  assert.deepEqual(
    findings.filter(({ isDamage }) => isDamage),
    [],
  )
  assert.equal(await findRecovery(folder), undefined)
  const { store, close } = await openStore(t, folder.path, { mustExist: true })
  const { id } = await store.add(someone, draft('to see the next id'))
  const names = store.list(0, store.count).map(({ name }) => name)
  await close()
  return { aside: aside ?? assert.fail('nothing is aside'), names: names.slice(0, -1), nextId: id }
}

describe('the recovery of a folder', () => {
  it('is not offered for a sound one', async (t) => {
    const { folder, store } = await usedFolder(t)
    assert.equal(await findRecovery(folder), undefined)
    await nameInTrail({ folder, store }, { 11: 9, 12: 10 })
    await nameInTrail({ folder, store: 'ffffffff' }, { 99: 99 })
    assert.equal(await findRecovery(folder), undefined)
  })

  it('says in its own words that it failed, or is not complete', async (t) => {
    const { folder } = await usedFolder(t)
    await truncate(folder.file(dataFiles.keys), 10)
    const recovery = await getRecovery(folder)
    const accounts = recovery.accounts ?? assert.fail('the accounts are sound')
    const files = createFailingFiles()
    const recover = () => recoverState(dataPaths(folder.path, files), recovery, accounts)
    failOn(files, 'write', dataFiles.journal.slice(0, 7), 'ENOSPC', Number.POSITIVE_INFINITY)
    await assert.rejects(recover, {
      message: `Cannot recover "${folder.path}" (ENOSPC); nothing has changed; see whether the disk works and has room`,
    })
    failOn(files, 'rename', folder.file(dataFiles.accounts), 'EIO')
    await assert.rejects(recover, {
      message: `The recovery of "${folder.path}" is not complete (EIO); start connbook, which completes it`,
    })
  })

  it('gives no id again that a large import may have given, although no file names the store', async (t) => {
    const { folder, store } = await usedFolder(t)
    const line = { event: 'configurations_imported', tag: `${store.slice(0, 8)}-1501`, added: 1500 }
    await appendFile(folder.file('audit.jsonl'), `${JSON.stringify(line)}\n`, { mode: 0o600 })
    for (const name of [dataFiles.journal, dataFiles.snapshot]) await writeFile(folder.file(name), '')
    const { salvaged, records } = await getRecovery(folder)
    assert.equal(salvaged.store, undefined)
    assert.ok(records.lastId >= 1501, String(records.lastId))
  })

  it('keeps what is before and behind the damage, with the same accounts', async (t) => {
    const { folder } = await usedFolder(t)
    const path = folder.file(dataFiles.journal)
    const bytes = await readFile(path, 'utf8')
    await writeFile(path, bytes.replace('"name":"g"', '"name":"G"'))
    const { accounts, salvaged } = await getRecovery(folder)
    assert.deepEqual(accounts, { accounts: smallBackup.accounts, madeUp: {} })
    assert.deepEqual(salvaged.missing, [{ first: 11, last: 11 }])
    const { aside, names, nextId } = await recovered(t, folder)
    assert.deepEqual([names, nextId], [['c', 'e', 'f', 'h'], 11])
    assert.deepEqual((await readdir(aside)).sort(), [
      'accounts.json',
      'journal.jsonl',
      'keys.json',
      'revocations.jsonl',
      'snapshot.json',
    ])
  })

  it('is offered for changes that only the audit trail names, and gives none of their ids again', async (t) => {
    const { folder, store } = await usedFolder(t)
    await cutJournal(folder, 2)
    assert.equal(await findRecovery(folder), undefined)
    await nameInTrail({ folder, store }, { 11: 9, 12: 10 })
    const { damaged, lost, records } = await getRecovery(folder)
    const found = damaged.map(({ name }) => name)
    assert.deepEqual([found, lost.count, records.lastId, records.revision], [['journal.jsonl'], 2, 10, 12])
    const { names, nextId } = await recovered(t, folder)
    assert.deepEqual([names, nextId], [['c', 'e', 'f'], 11])
  })

  it('leaves room for the ids of changes that the trail only counts', async (t) => {
    const { folder, store } = await usedFolder(t)
    const line = { event: 'configurations_imported', tag: `${store.slice(0, 8)}-2012`, added: 2000 }
    await appendFile(folder.file('audit.jsonl'), `${JSON.stringify(line)}\n`, { mode: 0o600 })
    assert.equal((await recovered(t, folder)).nextId, 2011)
  })

  it('gives no id again that the trail names for an earlier store', async (t) => {
    const { folder } = await usedFolder(t)
    await truncate(folder.file(dataFiles.snapshot), 10)
    await nameInTrail({ folder, store: 'ffffffff' }, { 3: 70 })
    assert.equal((await recovered(t, folder)).nextId, 71)
  })

  it('gives all files a new identity: store, keys and revocations', async (t) => {
    const { folder, store } = await usedFolder(t)
    await truncate(folder.file(dataFiles.keys), 10)
    const before = await readFile(folder.file(dataFiles.revocations), 'utf8')
    await recovered(t, folder)
    assert.ok(!(await readFile(folder.file(dataFiles.journal), 'utf8')).includes(store))
    assert.notEqual(await readFile(folder.file(dataFiles.revocations), 'utf8'), before)
  })

  it('has no accounts where they cannot be read, and keeps the secrets of a first start where they can', async (t) => {
    const { folder } = await usedFolder(t)
    const secrets = { username: 'admin', password: 'secret' }
    const path = folder.file(dataFiles.initialCredentials)
    await writeFile(path, JSON.stringify(secrets), { mode: 0o600 })
    await truncate(folder.file(dataFiles.keys), 10)
    assert.deepEqual((await getRecovery(folder)).accounts?.madeUp, secrets)
    await recovered(t, folder)
    assert.deepEqual(JSON.parse(await readFile(path, 'utf8')), secrets)

    for (const damage of [(name: string) => truncate(name, 10), rm]) {
      await damage(folder.file(dataFiles.accounts))
      assert.equal((await getRecovery(folder)).accounts, undefined)
    }
  })

  for (const name of [dataFiles.journal, dataFiles.snapshot, dataFiles.accounts, dataFiles.revocations]) {
    it(`is refused when a newer connbook wrote ${name}`, async (t) => {
      const { folder } = await usedFolder(t)
      const path = folder.file(name)
      await writeFile(path, newerVersion(await readFile(path)))
      await truncate(folder.file(dataFiles.keys), 10)
      await assert.rejects(findRecovery(folder), (error) => {
        assert.ok(error instanceof NewerFolderError)
        assert.match(error.message, /written by a newer connbook.*use the connbook that wrote it/)
        return true
      })
    })
  }
})

describe('the report of a recovery', () => {
  const reportOf = async (folder: DataPaths) => describeRecovery(await getRecovery(folder))
  const ENDS = 'Every session and token will end; the old files are kept aside'

  it('says that nothing is lost when only secrets are damaged', async (t) => {
    const { folder } = await usedFolder(t)
    await truncate(folder.file(dataFiles.accounts), 10)
    assert.deepEqual(await reportOf(folder), [
      'Can be salvaged: 5 records; the next id is 11',
      'The accounts cannot be read: there will be a new user and a new client, as after a first start',
      'No change of a record is known to be lost',
      ENDS,
    ])
  })

  it('names lost revisions and the changes that only the trail has, up to a number', async (t) => {
    const { folder, store } = await usedFolder(t)
    const path = folder.file(dataFiles.journal)
    await writeFile(path, (await readFile(path, 'utf8')).replace('"name":"f"', '"name":"F"'))
    const ids = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [13 + i, 11 + i]))
    await nameInTrail({ folder, store }, ids)
    const lines = await reportOf(folder)
    assert.deepEqual(lines.slice(0, 5), [
      'Can be salvaged: 4 records; the next id is 36',
      'Can be salvaged: 2 accounts',
      'Lost: the changes of revision 10',
      'Lost: the changes of the revisions 13 to 37, which only the audit trail names',
      '  18: added record 16 "name 16"',
    ])
    assert.deepEqual(lines.slice(-3), ['  37: added record 35 "name 35"', '  and 5 more', ENDS])
  })

  it('says what it cannot know', async (t) => {
    const { folder } = await usedFolder(t)
    await truncate(folder.file(dataFiles.journal), 10)
    const path = folder.file(dataFiles.snapshot)
    await writeFile(path, (await readFile(path, 'utf8')).replace('"name":"e"', '"name":e'))
    assert.deepEqual((await reportOf(folder)).slice(2, -1), [
      'Lost: 1 record of snapshot.json',
      'No checksum covers the records of snapshot.json: look through them, a value may be wrong',
      'Unknown: whether changes at the end of journal.jsonl are lost',
    ])
    await truncate(path, 10)
    assert.deepEqual((await reportOf(folder)).slice(2, -1), [
      'Lost: an unknown number of records of snapshot.json',
      'Unknown: whether more is lost. No file tells the id by which the audit trail names the changes',
    ])
  })
})
