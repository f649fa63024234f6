import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chown, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { runExecutable } from '../support/executable.ts'
import { asPlainAccount, giveToPlainAccount, plainAccount } from '../support/plain-account.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { copyOf, makeUsedFolder } from './kept-state.ts'
import { photograph } from './photograph.ts'

const used = await makeUsedFolder({ after })

describe('connbook restore', { timeout: 120_000 }, () => {
  it('does not read standard input', async (t) => {
    const cwd = await temporaryFolder(t)
    const { code } = await runExecutable(['restore', '-'], { cwd, input: await readFile(used.backup) })
    assert.notEqual(code, 0)
    assert.deepEqual(await readdir(cwd), [])
  })

  it('gives files written by root to the owner of the folder', {
    skip: process.getuid?.() !== 0,
  }, async (t) => {
    const folder = await copyOf(used, t)
    await giveToPlainAccount(folder)
    await chown(join(folder, '..'), plainAccount ?? 0, plainAccount ?? 0)
    assert.equal((await runCommand(['restore', used.backup, '--data', folder])).code, 0)
    for (const [path, { owner }] of Object.entries(await photograph(folder)))
      assert.equal(owner, plainAccount, path)
    const checked = await runExecutable(['check', '--data', folder], { through: asPlainAccount })
    assert.equal(checked.code, 0, checked.stderr)
  })
})
