import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chown, lstat, mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { noAccounts } from '../../src/auth/accounts.ts'
import type { FileSystem } from '../../src/files/file-system.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { filesOf } from '../../src/files/owners-files.ts'
import { recordCommand } from '../../src/state/command-audit.ts'
import { replaceState } from '../../src/state/restore.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const OWNER = 1234
/** Calls that take a path, and may change what is there. */
const changing = new Set(['open', 'mkdir', 'rename', 'rmdir', 'unlink', 'chmod'])
const state = { records: [], count: 0, hasLabels: false, revision: 0, lastId: 0, accounts: noAccounts }

/** Does what a restore does: it locks, replaces every file, and adds to the audit trail. */
async function restore(folder: string, files: FileSystem): Promise<string> {
  let said = ''
  const opened = await openDataFolder(folder, files)
  try {
    await replaceState(opened, state)
    await recordCommand(
      { screen: { write: (text) => (said += text) }, environment: {} },
      opened,
      'restored',
      'restore',
    )
  } finally {
    opened.release()
  }
  return said
}

/** Restores once, and lets the owner of the folder put a link in the place of what one of the calls is about. */
async function restoreWithLink(t: TestContext, at: number, isThere: boolean) {
  const root = await temporaryFolder(t)
  const [folder, outside] = [join(root, 'data'), join(root, 'outside')]
  for (const path of [folder, outside]) await mkdir(path, { mode: 0o700 })
  await chown(folder, OWNER, OWNER)
  for (const name of ['accounts.json', 'journal.jsonl', 'keys.json', '.lock', '.accounts-lock']) {
    await writeFile(join(folder, name), '')
    await chown(join(folder, name), OWNER, OWNER)
  }
  const files = createFailingFiles(filesOf(folder))
  let calls = 0
  let left: string[] = []
  files.before = async (operation, path) => {
    // Only to open a file could change one that is there.
    const isMeant = isThere ? operation === 'open' : changing.has(operation)
    if (!isMeant || !path.startsWith(`${folder}/`)) return
    calls += 1
    if (calls !== at) return
    await rename(path, `${path}.kept`).catch(() => {})
    if (isThere) await writeFile(join(outside, basename(path)), '{}')
    left = await readdir(outside)
    await symlink(join(outside, basename(path)), path)
  }
  const end = await restore(folder, files).catch(String)
  assert.deepEqual(await readdir(outside), left, `call ${at}: ${end}`)
  for (const name of left) assert.equal((await lstat(join(outside, name))).size, 2, `call ${at}: ${end}`)
  for (const entry of await readdir(folder, { recursive: true })) {
    const found = await lstat(join(folder, entry))
    // The link is of root, in place of the owner.
    if (!found.isSymbolicLink()) assert.equal(found.uid, OWNER, entry)
  }
  return calls >= at
}

describe('root, in the folder of another account', {
  skip: process.getuid?.() === 0 ? false : 'only root can work for another account',
}, () => {
  for (const isThere of [false, true])
    it(`touches no ${isThere ? 'file' : 'new file'} elsewhere when a link comes before any of its calls`, async (t) => {
      let calls = 0
      while (await restoreWithLink(t, calls + 1, isThere)) calls += 1
      assert.ok(calls > 5)
      t.diagnostic(`${calls} calls`)
    })
})
