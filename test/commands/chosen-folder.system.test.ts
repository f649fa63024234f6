import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { loginsOf } from '../../src/client/logins.ts'
import { logIn } from '../support/api.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { noNamespaces } from '../support/namespace.ts'
import { asPlainAccount, giveToPlainAccount } from '../support/plain-account.ts'
import { admin, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { photograph } from './photograph.ts'

const secret = 'a long enough secret'
const isRoot = process.getuid?.() === 0

/** A working directory, and who works there: nobody has named a place. */
async function openDirectory(t: TestContext) {
  const place = await temporaryFolder(t)
  const state = await temporaryFolder(t)
  const run = (words: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
    runExecutable(words, {
      cwd: place,
      input: secret,
      environment: { XDG_STATE_HOME: state, ...environment },
    })
  return { place, run }
}

const accountCommands = [
  ['user', 'add', 'eve'],
  ['user', 'add', 'eve', '--if-missing'],
  ['user', 'passwd', 'eve'],
  ['user', 'set', 'eve', '--admin'],
  ['user', 'remove', 'eve'],
  ['user', 'remove', 'eve', '--if-present'],
  ['user', 'list'],
  ['client', 'add', 'ci'],
  ['client', 'rotate', 'ci'],
  ['client', 'set', 'ci', '--read-only'],
  ['client', 'remove', 'ci'],
  ['client', 'list'],
]

const folderCommands = [
  ['keys', 'rotate'],
  ['keys', 'revoke-all'],
  ['keys', 'list'],
  ['backup', 'backup.json'],
]

describe('a command that names no place', () => {
  it('makes no folder, and says what to name', async (t) => {
    const { place, run } = await openDirectory(t)
    for (const words of [...accountCommands, ...folderCommands]) {
      const { code, stdout, stderr } = await run(words)
      const needsFolder = folderCommands.includes(words)
      assert.deepEqual([code, stdout], [needsFolder ? 2 : 6, ''], words.join(' '))
      if (needsFolder) assert.match(stderr, /at http:\/\/localhost:8080: .+ name that with --data FOLDER\n$/)
      else
        assert.match(
          stderr,
          /^connbook: Cannot connect to http:\/\/localhost:8080 \(\w+\); there is nothing of connbook in "\.\/data" either; name a server .+ --data FOLDER\n$/,
        )
    }
    assert.deepEqual(await readdir(place), [])
  })

  it('means the server of the login, and then that of the variable', async (t) => {
    const { place, run } = await openDirectory(t)
    const server = await startExecutable(t, ['--data', await usedFolder(t)])
    const login = await runExecutable(['login', server.url, '--user', admin.username], {
      input: `${admin.password}\n`,
      environment: { XDG_STATE_HOME: place },
    })
    assert.equal(login.code, 0, login.stderr)
    const environment = { XDG_STATE_HOME: place }
    assert.equal(
      (await run(['client', 'add', 'ci'], environment)).stderr,
      `Added client "ci" at ${server.url}\n`,
    )
    const backup = await run(['backup', 'backup.json'], environment)
    assert.deepEqual([backup.code, backup.stderr.includes(` at ${server.url}: `)], [2, true])
    const refused = await run(['client', 'add', 'ci'], {
      ...environment,
      CONNBOOK_SERVER: 'https://ann:hunter2@book.example.net',
    })
    assert.equal(refused.code, 2)
    assert.doesNotMatch(refused.stderr, /hunter2/)
    assert.deepEqual(await readdir(place), ['connbook'])
  })

  it('adds to a folder that is named, or that is there', async (t) => {
    const { place, run } = await openDirectory(t)
    assert.equal((await run(['user', 'add', 'ann', '--data', 'data'])).code, 0)
    assert.equal((await run(['user', 'add', 'eve'])).code, 0)
    assert.equal((await run(['client', 'add', 'ci'], { CONNBOOK_DATA: 'other' })).code, 0)
    assert.deepEqual(await readdir(place), ['data', 'other'])
    assert.equal((await run(['user', 'list'])).stdout, 'ann\neve\n')
  })
})

describe('the folder of the service', { skip: noNamespaces }, () => {
  const script = 'mount -t tmpfs none /var/lib && cp -a "$0" /var/lib/connbook && exec "$@"'

  /** Runs a command as root where the package has put a book. */
  async function openHost(t: TestContext) {
    const { place } = await openDirectory(t)
    const through = ['unshare', '--map-root-user', '--mount', '/bin/sh', '-c', script, await usedFolder(t)]
    const environment = { XDG_STATE_HOME: join(place, 'state') }
    const run = (words: readonly string[]) =>
      runExecutable(words, { cwd: place, input: secret, environment, through })
    return { place, run }
  }

  it('is what root means who names nothing else', async (t) => {
    const { place, run } = await openHost(t)
    for (const words of [
      ['ls'],
      ['export', '--format', 'csv'],
      ['whoami'],
      ['user', 'list'],
      ['backup', '-'],
    ]) {
      const { code, stderr } = await run(words)
      assert.equal(code, 0, `${words.join(' ')}: ${stderr}`)
    }
    for (const words of [
      ['add', 'web1', 'u@h:22'],
      ['user', 'add', 'eve'],
      ['client', 'add', 'ci'],
    ])
      assert.match((await run(words)).stderr, /^Added .+ in \/var\/lib\/connbook\n$/)
    assert.match((await run(['keys', 'rotate'])).stdout, /^Rotated the keys in \/var\/lib\/connbook\n/)
    assert.match((await run(['get', 'web1'])).stderr, /^connbook: There is no .+ in \/var\/lib\/connbook\n$/)
    assert.deepEqual(await readdir(place), [])
  })

  it('is not meant beside ./data, nor after a login', async (t) => {
    const { place, run } = await openHost(t)
    await cp(await usedFolder(t), join(place, 'data'), { recursive: true })
    await chmod(join(place, 'data'), 0o700)
    const added = await run(['add', 'web1', 'u@h:22'])
    assert.equal(added.stderr, `Added "web1" in ${join(place, 'data')}\n`)
    const login = { server: 'http://127.0.0.1:1', user: 'eve', cookie: 'session=x' }
    await loginsOf({ XDG_STATE_HOME: join(place, 'state') }).keep(login)
    assert.match((await run(['ls'])).stderr, /^connbook: Cannot connect to http:\/\/127\.0\.0\.1:1 /)
  })
})

describe('./data of another account', { skip: isRoot ? false : 'only root can make one' }, () => {
  const commands = [
    ...accountCommands,
    ...folderCommands,
    ['import', '-', '--format', 'csv'],
    ['export', '--format', 'csv'],
    ['inventory', '--list'],
    ['ls'],
    ['get', 'web1'],
    ['check'],
    ['recover', '--yes'],
    ['restore', '-'],
  ]

  it('is not used by root unless it is named', async (t) => {
    const { place, run } = await openDirectory(t)
    const folder = join(place, 'data')
    await cp(await usedFolder(t), folder, { recursive: true })
    await giveToPlainAccount(folder)
    const before = await photograph(folder)
    for (const words of commands) {
      const { code, stdout, stderr } = await run(words)
      assert.deepEqual([code, stdout], [2, ''], `${words.join(' ')}: ${stderr}`)
      assert.equal(
        stderr,
        'connbook: Cannot use "./data" unnamed: it belongs to another account (owner 65534, mode 0700); if it is the one that you mean, name it: --data ./data\n',
      )
    }
    assert.deepEqual(await photograph(folder), before)
    assert.equal((await run(['user', 'list', '--data', './data'])).stdout, 'admin\tadmin\n')
  })

  it('ends the search of other accounts, too', async (t) => {
    const { place } = await openDirectory(t)
    await cp(await usedFolder(t), join(place, 'data'), { recursive: true })
    await chmod(place, 0o755)
    for (const words of commands) {
      const { code, stderr } = await runExecutable(words, {
        cwd: place,
        input: secret,
        through: asPlainAccount,
      })
      assert.equal(code, 2, `${words.join(' ')}: ${stderr}`)
      assert.match(
        stderr,
        /belongs to another account \(owner 0, mode 0700\); name a folder of your own with --data/,
      )
    }
  })

  it('does not matter to who names a server', async (t) => {
    const { place, run } = await openDirectory(t)
    await cp(await usedFolder(t), join(place, 'data'), { recursive: true })
    await giveToPlainAccount(join(place, 'data'))
    const server = await startExecutable(t, ['--data', await usedFolder(t)])
    await logIn(server.url, admin)
    const { code, stderr } = await run(['ls', '--server', server.url], { CONNBOOK_TOKEN: 'none' })
    assert.deepEqual([code, /unnamed/.test(stderr)], [5, false])
  })
})
