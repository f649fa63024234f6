import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { findAccount, noAccounts, scopeOf } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { trailIn } from '../audit/trail.ts'
import { logIn } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient } from '../support/http-client.ts'
import { admin, start, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function makeFolder(t: TestContext) {
  const folder = await usedFolder(t)
  return {
    folder,
    run: (...words: string[]) => runCommand([...words, '--data', folder], { input: 'a secret' }),
    async scopeIn(kind: 'user' | 'client', name: string) {
      const accounts = (await accountsDocument(dataPaths(folder)).read()) ?? noAccounts
      return scopeOf(findAccount(accounts, kind, name) ?? assert.fail(`no ${kind} ${name}`))
    },
  }
}

describe('--admin', () => {
  it('adds an admin, which the list and the audit trail show', async (t) => {
    const { folder, run, scopeIn } = await makeFolder(t)
    assert.deepEqual(await run('user', 'add', 'eve', '--admin'), {
      code: 0,
      stdout: '',
      stderr: `Added admin user "eve" in ${folder}\n`,
    })
    assert.match((await run('client', 'add', 'ci', '--admin')).stderr, /^Added admin client "ci" in /)
    assert.deepEqual(
      [await scopeIn('user', 'eve'), await scopeIn('client', 'ci')],
      ['read write admin', 'read write admin'],
    )
    assert.equal((await run('user', 'list')).stdout, 'admin\tadmin\neve\tadmin\n')
    assert.equal((await run('client', 'list')).stdout, 'ci\tadmin\nscript\n')
    const scopes = (await trailIn(folder)).map(({ event, account, scope }) => [event, account, scope])
    assert.deepEqual(scopes, [
      ['user_added', 'eve', 'read write admin'],
      ['client_added', 'ci', 'read write admin'],
    ])
  })

  it('makes an account an admin, and --read-write takes that away', async (t) => {
    const { folder, run, scopeIn } = await makeFolder(t)
    assert.equal(
      (await run('client', 'set', 'script', '--admin')).stderr,
      `Client "script" in ${folder} can read and change records, and manage accounts from now on\n`,
    )
    assert.equal(await scopeIn('client', 'script'), 'read write admin')
    const { stdout, stderr } = await run('client', 'set', 'script', '--read-write')
    assert.deepEqual(
      [stdout, stderr],
      ['', `Client "script" in ${folder} can read and change records from now on\n`],
    )
    assert.equal(await scopeIn('client', 'script'), 'read write')
  })

  it('is missed when the last admin goes, but not in a folder that had none', async (t) => {
    const { run } = await makeFolder(t)
    const warning =
      /\nconnbook: Warning: no account is an admin any more, so nobody can manage accounts over HTTP; run: connbook user set admin --data '\/.+' --admin\n$/
    assert.match((await run('user', 'set', 'admin', '--read-write')).stderr, warning)
    assert.doesNotMatch((await run('client', 'set', 'script', '--read-only')).stderr, /Warning/)
    assert.match((await run('user', 'list')).stdout, /^admin\n$/)
  })
})

describe('a start', () => {
  it('says how to get an admin while there is none', async (t) => {
    const { folder, run } = await makeFolder(t)
    await run('user', 'set', 'admin', '--read-write')
    const { log, stop } = await start(t, { folder, environment: {} })
    await stop()
    const [line = assert.fail(log.events.join(' '))] = log.lines.filter((each) =>
      each.includes('nobody_can_administer'),
    )
    assert.match(line, /"level":"warn".*"remedy":"run: connbook user set admin --data '\/.+' --admin"/)
    const [, remedy = ''] = /run: connbook (.*)"/.exec(line) ?? []
    assert.equal((await run(...remedy.replace(/ --data '.*'/, '').split(' '))).code, 0)
    assert.match((await run('user', 'list')).stdout, /^admin\tadmin\n$/)
  })

  it('makes the first user an admin, and a backup keeps that', async (t) => {
    const folder = await temporaryFolder(t)
    const first = await start(t, { folder })
    assert.equal(first.log.events.includes('nobody_can_administer'), false)
    await first.stop()
    const backup = join(await temporaryFolder(t), 'backup.json')
    assert.equal((await runCommand(['backup', backup, '--data', folder])).code, 0)
    assert.match(await readFile(backup, 'utf8'), /^\{"format":"connbook backup","version":4,/)
    const target = join(await temporaryFolder(t), 'new')
    assert.equal((await runCommand(['restore', backup, '--data', target])).code, 0)
    const { url } = await start(t, { folder: target, environment: {} })
    const answer = await createClient(url, await logIn(url, admin))('GET', '/v1/whoami')
    assert.equal(answer.json<{ scope: string }>().scope, 'read write admin')
  })
})
