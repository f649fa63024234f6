import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { findAccount, scopeOf } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { getToken, logIn } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient, type Headers } from '../support/http-client.ts'
import { folderWithReaders, readingClient, readingUser } from '../support/readers.ts'
import { admin, client, start, usedFolder } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A folder with the user `admin` and the client `script`. */
async function makeFolder(t: TestContext) {
  const folder = await usedFolder(t)
  const run = (words: readonly string[], input = '') =>
    runCommand(words, { input, environment: { CONNBOOK_DATA: folder, CONNBOOK_READ_ONLY: 'true' } })
  const scopeIn = async (kind: 'user' | 'client', name: string) => {
    const accounts = (await accountsDocument(dataPaths(folder)).read()) ?? assert.fail('no accounts')
    return scopeOf(findAccount(accounts, kind, name) ?? assert.fail(`no ${name}`))
  }
  return { folder, run, scopeIn, text: () => readFile(join(folder, dataFiles.accounts), 'utf8') }
}

const secretIn = (stdout: string) =>
  /^client_secret: ([A-Za-z0-9]{43})$/m.exec(stdout)?.[1] ?? assert.fail(stdout)

/** The statuses of a read and of a write, and the error of the write. */
async function tryOut(url: string, headers: Headers) {
  const ask = createClient(url, headers)
  const read = await ask('GET', '/configurations/')
  const write = await ask('DELETE', '/configurations/none')
  return [read.status, write.status, /error="(\w+)"/.exec(write.headers['www-authenticate'] ?? '')?.[1]]
}

const mayRead = [200, 403, 'insufficient_scope']
const mayWrite = [200, 404, undefined]

describe('--read-only', () => {
  it('can stand before or after the name, and before the verb', async (t) => {
    const { folder, run, scopeIn } = await makeFolder(t)
    const spellings = [
      ['user', 'add', '--read-only', 'a'],
      ['user', 'add', 'a b', '--read-only'],
      ['client', '--read-only', 'add', 'c'],
      ['client', 'add', '--read-only=true', '--', '--read-only'],
    ]
    for (const words of spellings) {
      const { code, stderr } = await run(words, 'a secret')
      assert.equal(code, 0)
      assert.match(stderr, new RegExp(`^Added read-only ${words[0]} ".+" in ${folder}\n`))
    }
    for (const [kind, name] of [
      ['user', 'a'],
      ['user', 'a b'],
      ['client', 'c'],
      ['client', '--read-only'],
    ] as const) {
      assert.equal(await scopeIn(kind, name), 'read')
    }
  })

  it('is off when it is not given, whatever the environment says', async (t) => {
    const { folder, run, scopeIn } = await makeFolder(t)
    const added = await run(['user', 'add', 'eve'], 'a secret')
    assert.deepEqual(added, { code: 0, stdout: '', stderr: `Added user "eve" in ${folder}\n` })
    assert.equal((await run(['client', 'add', 'ci', '--read-only=false'])).code, 0)
    assert.deepEqual(
      [await scopeIn('user', 'eve'), await scopeIn('client', 'ci')],
      ['read write', 'read write'],
    )
  })

  it('shows in the list after a tab, and other lines are unchanged', async (t) => {
    const { run } = await makeFolder(t)
    await run(['user', 'add', 'night (read-only)'], 'a secret')
    await run(['user', 'add', 'night watch', '--read-only'], 'a secret')
    await run(['client', 'add', 'probe', '--read-only'])
    assert.equal(
      (await run(['user', 'list'])).stdout,
      'admin\tadmin\nnight (read-only)\nnight watch\tread-only\n',
    )
    assert.equal((await run(['client', 'list'])).stdout, 'probe\tread-only\nscript\n')
  })

  it('survives a new password or secret, and ends when the account is removed', async (t) => {
    const { run, scopeIn } = await makeFolder(t)
    const steps = [
      ['user', 'add', 'eve', '--read-only'],
      ['client', 'add', 'ci', '--read-only'],
      ['user', 'passwd', 'eve'],
      ['client', 'rotate', 'ci'],
    ]
    for (const words of steps) assert.equal((await run(words, 'a secret')).code, 0)
    assert.deepEqual([await scopeIn('user', 'eve'), await scopeIn('client', 'ci')], ['read', 'read'])
    assert.equal((await run(['user', 'remove', 'eve'])).code, 0)
    assert.equal((await run(['user', 'add', 'eve'], 'a secret')).code, 0)
    assert.deepEqual([await scopeIn('user', 'eve'), await scopeIn('client', 'ci')], ['read write', 'read'])
  })

  const refusals: Record<string, RegExp> = {
    'user passwd admin --read-only': /^connbook: Unknown flag "--read-only"; see connbook help\n$/,
    'user remove admin --read-only': /^connbook: Unknown flag "--read-only"/,
    'user remove admin --read-only=no': /^connbook: Unknown flag "--read-only"/,
    'user list --read-only': /^connbook: Unknown flag "--read-only"/,
    'client rotate script --read-only': /^connbook: Unknown flag "--read-only"/,
    'client remove script --read-only': /^connbook: Unknown flag "--read-only"/,
    'client list --read-only': /^connbook: Unknown flag "--read-only"/,
    '--read-only': /^connbook: Unknown flag "--read-only"/,
    'serve --read-only': /^connbook: Unknown flag "--read-only"/,
    'check --read-only': /^connbook: Unknown flag "--read-only"/,
    'backup - --read-only': /^connbook: Unknown flag "--read-only"/,
    'restore none.json --read-only': /^connbook: Unknown flag "--read-only"/,
    'user add eve --read-only --read-only': /^connbook: The flag --read-only is given twice/,
    'user add eve --read-only=maybe':
      /^connbook: Cannot use --read-only "maybe": it must be true or false\n$/,
    'user add eve --read-only true': /^connbook: Write it as: connbook user add NAME\n$/,
    'user add eve --readonly': /^connbook: Unknown flag "--readonly"/,
  }
  for (const [words, message] of Object.entries(refusals)) {
    it(`${words}: exits with 2, and changes nothing`, async (t) => {
      const { run, text } = await makeFolder(t)
      const before = await text()
      const { code, stdout, stderr } = await run(words.split(' '), 'a secret')
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, message)
      assert.equal(await text(), before)
    })
  }

  it('takes effect at once in a running server, and lasts over a restart', async (t) => {
    const folder = await usedFolder(t)
    const server = await start(t, { folder })
    const add = (kind: string, name: string, input = '') =>
      runCommand([kind, 'add', name, '--read-only', '--data', folder], { input })
    assert.equal((await add('user', readingUser.username, readingUser.password)).code, 0)
    const { stdout } = await add('client', readingClient.client_id)
    const viewer = { client_id: readingClient.client_id, client_secret: secretIn(stdout) }
    const credentials = [await logIn(server.url, readingUser), await getToken(server.url, viewer)]
    for (const headers of credentials) assert.deepEqual(await tryOut(server.url, headers), mayRead)
    assert.deepEqual(await tryOut(server.url, await logIn(server.url, admin)), mayWrite)
    await server.stop()
    const again = await start(t, { folder })
    for (const headers of credentials) assert.deepEqual(await tryOut(again.url, headers), mayRead)
  })

  it('is changed by set at once for sessions and tokens that go on, and lasts', async (t) => {
    const folder = await folderWithReaders(t)
    const server = await start(t, { folder })
    const set = async (...words: string[]) => {
      const { code, stdout, stderr } = await runCommand([...words, '--data', folder])
      assert.deepEqual([code, stdout], [0, ''])
      return stderr
    }
    const session = await logIn(server.url, readingUser)
    const token = await getToken(server.url, client)
    assert.deepEqual(await tryOut(server.url, session), mayRead)
    assert.deepEqual(await tryOut(server.url, token), mayWrite)

    const user = readingUser.username
    assert.equal(
      await set('user', 'set', user, '--read-write'),
      `User "${user}" in ${folder} can read and change records from now on\n`,
    )
    assert.equal(
      await set('client', 'set', client.client_id, '--read-only'),
      `Client "${client.client_id}" in ${folder} is read-only from now on\n`,
    )
    const outcomes = async (url: string) => [await tryOut(url, session), await tryOut(url, token)]
    assert.deepEqual(await outcomes(server.url), [mayWrite, mayRead])
    await server.stop()
    const again = await start(t, { folder })
    assert.deepEqual(await outcomes(again.url), [mayWrite, mayRead])
    const lines = await readFile(join(folder, 'audit.jsonl'), 'utf8')
    assert.match(lines, /"event":"user_changed"[^\n]*"scope":"read write"/)
    assert.match(lines, /"event":"client_changed"[^\n]*"scope":"read"/)
  })

  it('ends every session that could write when the account is recreated', async (t) => {
    const folder = await usedFolder(t)
    const server = await start(t, { folder })
    const run = async (...words: string[]) =>
      assert.equal((await runCommand([...words, '--data', folder], { input: admin.password })).code, 0)
    const before = await logIn(server.url, admin)
    assert.deepEqual(await tryOut(server.url, before), mayWrite)
    await run('user', 'remove', 'admin')
    await run('user', 'add', 'admin', '--read-only')
    assert.deepEqual(await tryOut(server.url, before), [403, 403, undefined])
    assert.deepEqual(await tryOut(server.url, await logIn(server.url, admin)), mayRead)
  })

  it('is saved in a backup, and restored from it', async (t) => {
    const folder = await folderWithReaders(t)
    const [backup, other] = [join(await temporaryFolder(t), 'backup.json'), await temporaryFolder(t)]
    assert.equal((await runCommand(['backup', backup, '--data', folder])).code, 0)
    assert.equal((await runCommand(['check', backup])).code, 0)
    const target = join(other, 'data')
    assert.equal((await runCommand(['restore', backup, '--data', target])).code, 0)
    assert.deepEqual(
      await accountsDocument(dataPaths(target)).read(),
      await accountsDocument(dataPaths(folder)).read(),
    )
    const service = await start(t, { folder: target })
    assert.deepEqual(await tryOut(service.url, await logIn(service.url, readingUser)), mayRead)
    assert.deepEqual(await tryOut(service.url, await getToken(service.url, readingClient)), mayRead)
    assert.deepEqual(await tryOut(service.url, await logIn(service.url, admin)), mayWrite)
    assert.deepEqual(await tryOut(service.url, await getToken(service.url, client)), mayWrite)
  })

  it('adds no member to a backup without read-only accounts and admins', async (t) => {
    const folder = await temporaryFolder(t)
    const service = await start(t, { folder })
    const ask = createClient(service.url, { Cookie: await service.cookie() })
    assert.equal((await ask('POST', '/configurations/', { body: draft('kept') })).status, 200)
    await service.stop()
    const demoted = await runCommand(['user', 'set', 'admin', '--read-write', '--data', folder])
    assert.equal(demoted.code, 0)
    const backup = join(await temporaryFolder(t), 'backup.json')
    assert.equal((await runCommand(['backup', backup, '--data', folder])).code, 0)
    for (const path of [backup, join(folder, dataFiles.accounts)])
      assert.doesNotMatch(await readFile(path, 'utf8'), /scope|read/)
    assert.equal((await runCommand(['restore', backup, '--data', folder])).code, 0)
    const restored = await start(t, { folder })
    assert.deepEqual(await tryOut(restored.url, await logIn(restored.url, admin)), mayWrite)
    assert.deepEqual(await tryOut(restored.url, await getToken(restored.url, client)), mayWrite)
  })
})
