import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { findAccount, noAccounts } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { trailIn } from '../audit/trail.ts'
import { runCommand } from '../support/command.ts'
import { usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function makeFolder(t: TestContext) {
  const folder = await usedFolder(t)
  return {
    folder,
    run: (...words: string[]) => runCommand([...words, '--data', folder], { input: 'a long secret' }),
    async grantsIn(kind: 'user' | 'client', name: string) {
      const accounts = (await accountsDocument(dataPaths(folder)).read()) ?? noAccounts
      return findAccount(accounts, kind, name)?.grants
    },
  }
}

describe('--grant', () => {
  it('limits an account, which the list and the audit trail show in one form', async (t) => {
    const { folder, run, grantsIn } = await makeFolder(t)
    const flags = ['--grant', 'write?label=team=a&prefix=a/', '--grant', 'read']
    assert.deepEqual(await run('user', 'add', 'eve', '--read-only', ...flags), {
      code: 0,
      stdout: '',
      stderr: `Added read-only user "eve" in ${folder}\n`,
    })
    const grants = ['read', 'write?prefix=a%2F&label=team=a']
    assert.deepEqual(await grantsIn('user', 'eve'), grants)
    await run('client', 'add', 'ci', '--grant', 'write?prefix=b')
    assert.equal((await run('user', 'list')).stdout, `admin\tadmin\neve\tread-only\t${grants.join(' ')}\n`)
    assert.equal((await run('client', 'list')).stdout, 'ci\t\twrite?prefix=b\nscript\n')
    assert.deepEqual(
      (await trailIn(folder)).map(({ event, account, grants }) => [event, account, grants]),
      [
        ['user_added', 'eve', grants],
        ['client_added', 'ci', ['write?prefix=b']],
      ],
    )
  })

  it('takes the place of other grants, and --no-grants takes them away', async (t) => {
    const { folder, run, grantsIn } = await makeFolder(t)
    const limited = await run('client', 'set', 'script', '--grant', 'read?prefix=a')
    const who = 'Client "script"'
    assert.equal(
      limited.stderr,
      `${who} in ${folder} sees and changes only what is granted from now on: read?prefix=a\n`,
    )
    assert.equal(
      (await run('client', 'set', 'script', '--grant', 'read?prefix=%61')).stderr,
      `${who} in ${folder} sees and changes only what is granted already: read?prefix=a; nothing has changed\n`,
    )
    assert.equal((await run('client', 'set', 'script', '--grant', 'read', '--read-only')).code, 0)
    assert.deepEqual(await grantsIn('client', 'script'), ['read'])
    const admin = await run('client', 'set', 'script', '--admin')
    assert.deepEqual([admin.code, admin.stdout], [2, ''])
    assert.equal(
      admin.stderr,
      'connbook: An admin cannot have grants, because an admin can lift every limit; give --no-grants with --admin, or --read-write with --grant\n',
    )
    const free = await run('client', 'set', 'script', '--no-grants', '--read-write')
    assert.equal(
      free.stderr,
      `${who} in ${folder} can read and change records, and sees all records from now on\n`,
    )
    assert.equal(await grantsIn('client', 'script'), undefined)
    const lines = (await trailIn(folder)).map(({ event, scope, grants }) => [event, scope, grants])
    assert.deepEqual(lines, [
      ['client_changed', 'read write', ['read?prefix=a']],
      ['client_changed', 'read', ['read']],
      ['client_changed', 'read write', null],
    ])
  })

  it('goes into a backup, and back into a folder', async (t) => {
    const { run, grantsIn } = await makeFolder(t)
    await run('client', 'set', 'script', '--grant', 'read?prefix=a')
    const other = await temporaryFolder(t)
    const [backup, data] = [join(other, 'backup.json'), join(other, 'data')]
    assert.equal((await run('backup', backup)).code, 0)
    assert.match(await readFile(backup, 'utf8'), /^\{"format":"connbook backup","version":4,/)
    assert.equal((await runCommand(['restore', backup, '--data', data])).code, 0)
    const restored = (await accountsDocument(dataPaths(data)).read()) ?? noAccounts
    assert.deepEqual(findAccount(restored, 'client', 'script')?.grants, await grantsIn('client', 'script'))
  })
})
