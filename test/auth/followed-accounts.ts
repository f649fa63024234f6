import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Accounts, addAccount, noAccounts } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { folderCredentials } from '../../src/auth/folder-credentials.ts'
import { LiveAccounts } from '../../src/auth/live-accounts.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { CREDENTIALS_POLL_MS } from '../../src/files/shared-document.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { openedFolder } from '../support/temporary-folder.ts'

export const one = addAccount(noAccounts, 'client', 'one', digestSecret('1'))
export const two = addAccount(one, 'client', 'two', digestSecret('2'))

/**
 * A follower of a file with `one`.
 *
 * @param known The content that the follower starts with.
 */
export async function followedAccounts(t: TestContext, known: Accounts = one) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const folder = await openedFolder(t)
  const document = accountsDocument(folder)
  await document.write(one)
  const log = createMemoryLog()
  const files = createFailingFiles()
  const live = new LiveAccounts(folderCredentials({ ...folder, files }), known, log)
  t.after(() => live.close())
  let changes = 0
  live.onChange(() => (changes += 1))
  const looks = () => files.calls.filter((call) => call.startsWith('stat ')).length
  return {
    document,
    folder,
    files,
    live,
    log,
    path: folder.file(dataFiles.accounts),
    changes: () => changes,
    names: () => ['one', 'two'].filter((name) => live.find('client', name) !== undefined),
    /** Lets time pass until one poll of the file is complete: the next begins only then. */
    async look() {
      for (const before = looks(); looks() < before + 2; await nextTurn())
        t.mock.timers.tick(CREDENTIALS_POLL_MS)
    },
  }
}

/** Asserts that the accounts stay as they are while the file is damaged, and that the log says so once. */
export async function assertKeptWhileDamaged(
  t: TestContext,
  damage: (path: string) => Promise<void>,
  event: string,
): Promise<void> {
  const { document, files, log, look, names, path } = await followedAccounts(t)
  await look()
  // Between two polls, so that none finds the file half-way.
  files.before = async (operation) => {
    if (operation !== 'stat') return
    files.before = () => {}
    await damage(path)
  }
  await look()
  await look()
  assert.deepEqual(names(), ['one'])
  assert.deepEqual(log.events, [event])
  await rm(path, { recursive: true, force: true })
  await document.write(two)
  await look()
  assert.deepEqual(names(), ['one', 'two'])
}
