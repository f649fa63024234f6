import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addAccount, noAccounts } from '../../src/auth/accounts.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { LINE_BYTES_MAX } from '../../src/limits.ts'
import { backupPieces } from '../../src/state/backup-document.ts'
import { ServedBackups } from '../../src/state/served-backups.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('a backup of what is served', () => {
  it('is of one moment, whatever changes while it is sent', async (t) => {
    const folder = await temporaryFolder(t)
    const { store } = await openStore(t, folder)
    for (const name of ['a', 'b', 'c']) await store.add(someone, draft(name))
    const accounts = { all: addAccount(noAccounts, 'user', 'admin', 'sha256:x') }
    const backups = new ServedBackups(
      {
        ...{ store, accounts, folder: dataPaths(folder), log: createMemoryLog(), hasWholeHistory: true },
        audit: { written: async () => {} },
      },
      undefined,
    )
    const taken = await backups.take(undefined)
    const text = () => [...backupPieces(taken)].join('')
    const before = text()
    await store.add(someone, draft('d'))
    await store.remove(someone, 'a')
    accounts.all = noAccounts
    assert.equal(text(), before)
    const now = await backups.take(undefined)
    assert.deepEqual(
      [now.revision, now.lastId, now.count, now.accounts, [...now.records].map(({ name }) => name)],
      [5, 4, 3, noAccounts, ['b', 'c', 'd']],
    )
    const users = [{ name: 'x'.repeat(LINE_BYTES_MAX), secret: '', generation: 1 }]
    accounts.all = { ...noAccounts, users }
    await assert.rejects(backups.take(undefined), { code: 'answer_too_large' })
  })
})
