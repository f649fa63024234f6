import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { access, chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { findAccount } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { verifyPassword } from '../../src/auth/password.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { start, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { typing } from './remote/client-home.ts'

/** A folder with the user `admin` and the client `script`, with a server that runs on it or not. */
async function openFolder(t: TestContext, isServed = false) {
  const folder = await usedFolder(t)
  if (isServed) await start(t, { folder, environment: {} })
  const run = (words: string, input = '') => runCommand([...words.split(' '), '--data', folder], { input })
  return { folder, run, accountsText: () => readFile(join(folder, dataFiles.accounts), 'utf8') }
}

const secretIn = (stdout: string) =>
  /^client_secret: ([A-Za-z0-9]{43})$/m.exec(stdout)?.[1] ?? assert.fail(stdout)

describe('user and client', () => {
  it('list the names, one per line, and no secret', async (t) => {
    const { run } = await openFolder(t)
    assert.equal((await run('client add a/b')).code, 0)
    assert.equal((await run('client list')).stdout, 'a/b\nscript\n')
    assert.equal((await run('user list')).stdout, 'admin\tadmin\n')
  })

  it('never show a secret twice, and store none in the clear', async (t) => {
    const { run, accountsText } = await openFolder(t)
    const secret = secretIn((await run('client add ci')).stdout)
    await run('user add eve', 'typed secret')
    assert.doesNotMatch((await run('client list')).stdout, new RegExp(secret))
    assert.doesNotMatch(await accountsText(), new RegExp(`${secret}|typed secret`))
  })

  it('give a removed and re-added account a new generation', async (t) => {
    const { run, accountsText } = await openFolder(t)
    const generations = async () =>
      [...(await accountsText()).matchAll(/"generation": (\d+)/g)].map(([, g]) => Number(g))
    assert.deepEqual(await generations(), [1, 2])
    await run('user remove admin')
    await run('user add admin', 'once again')
    assert.deepEqual(await generations(), [3, 2])
  })

  it('lose no change when run concurrently', async (t) => {
    // No command gives up, however busy the machine is.
    t.mock.method(performance, 'now', () => 0)
    const { run } = await openFolder(t)
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const { code, stderr } of await Promise.all(names.map((name) => run(`client add ${name}`))))
      assert.equal(code, 0, stderr)
    assert.deepEqual((await run('client list')).stdout.trim().split('\n'), [...names, 'script'])
  })

  const unshown: Record<string, RegExp> = {
    'user list': /^connbook: Cannot show the users \((ENOSPC|EPIPE)\)\n$/,
    'client add ci':
      /^Added client .*\nconnbook: Cannot show what was done \(.+\): the secret is lost; rotate it again\n$/,
    'client rotate script':
      /^Changed the secret .*\nconnbook: Cannot show what was done \(.+\): the secret is lost; rotate it again\n$/,
  }
  for (const [words, message] of Object.entries(unshown)) {
    it(`${words}: exits with 1 when standard output cannot be written`, async (t) => {
      for (const outputError of ['ENOSPC', 'EPIPE'] as const) {
        const { folder } = await openFolder(t)
        const { code, stderr } = await runCommand([...words.split(' '), '--data', folder], { outputError })
        assert.equal(code, 1)
        assert.match(stderr, message)
      }
    })
  }

  const refusals: Record<string, readonly [code: number, message: RegExp]> = {
    'user add admin': [4, /^connbook: Cannot add the user "admin": there is one already$/],
    'client add script': [4, /there is one already$/],
    'user passwd nobody': [3, /^connbook: There is no user "nobody" in \/\S+$/],
    'user remove nobody': [3, /^connbook: There is no user "nobody"/],
    'user remove script': [3, /There is no user "script"/],
    'client rotate admin': [3, /There is no client "admin"/],
    'client remove nobody': [3, /There is no client "nobody"/],
    'client add a:b': [2, /^connbook: The account is not valid\n {2}ID must not hold a ":", which/],
    user: [2, /^connbook: Unknown command "user"; it takes add, passwd, set, remove, list$/],
    client: [2, /^connbook: Unknown command "client"; it takes add, rotate, set, remove, list$/],
    'user rotate admin': [2, /Unknown command "user rotate"/],
    'client passwd script': [2, /Unknown command "client passwd"/],
    'user add': [2, /^connbook: Write it as: connbook user add NAME$/],
    'user add eve secret': [2, /^connbook: Write it as: connbook user add NAME$/],
    'user list admin': [2, /^connbook: Write it as: connbook user list$/],
    'user add eve --password=x': [2, /^connbook: Unknown flag "--password"/],
    'user list --port=1': [2, /^connbook: Unknown flag "--port"/],
    'user set nobody --read-only': [3, /^connbook: There is no user "nobody" in \/\S+$/],
    'client set admin --read-write': [3, /There is no client "admin"/],
    'user set admin': [
      2,
      /^connbook: Write it as: connbook user set NAME --read-only, or: connbook user set NAME --read-write, or: connbook user set NAME --admin; or with --grant GRANT or --no-grants$/,
    ],
    'client set script --read-only --read-write': [2, /Write it as: connbook client set ID --read-only, or/],
    'client set script --admin --read-write': [2, /Write it as: connbook client set ID --read-only, or/],
    'user add eve --admin --grant read': [
      2,
      /^connbook: Give --admin or --grant, not both: an admin can lift/,
    ],
    'user set admin --grant read --no-grants': [2, /^connbook: Give --grant or --no-grants, not both$/],
    'user set admin --admin --read-only --grant read': [
      2,
      /Write it as: connbook user set NAME --read-only, or/,
    ],
    'user add eve --grant reed': [
      2,
      /^connbook: Cannot use --grant: "reed" must be read or write, or one of these with/,
    ],
    'user add eve --read-only --admin': [2, /^connbook: Give --read-only or --admin, not both$/],
    'user add eve --read-write': [2, /Unknown flag "--read-write"/],
    'user add eve --secret-stdin': [2, /Unknown flag "--secret-stdin"/],
    'user remove nobody --if-missing': [2, /Unknown flag "--if-missing"/],
    'user add a-secret': [
      2,
      /^connbook: Cannot use the password: it is the name of the user; choose another$/,
    ],
    'client add ci --secret-stdin': [
      2,
      /^connbook: Cannot use the secret: it is shorter than 16 characters; choose a longer one$/,
    ],
    'client rotate script --secret-stdin': [2, /shorter than 16/],
  }
  for (const [words, [expected, message]] of Object.entries(refusals)) {
    it(`${words}: exits with ${expected}, and changes nothing`, async (t) => {
      const { run, accountsText } = await openFolder(t)
      const before = await accountsText()
      const { code, stdout, stderr } = await run(words, 'a-secret\n')
      assert.deepEqual([code, stdout], [expected, ''])
      assert.match(stderr.trimEnd(), message)
      assert.equal(await accountsText(), before)
    })
  }

  for (const isServed of [true, false])
    it(`take an account that is there, or is not, for done when told so, ${isServed ? 'beside a server' : 'without a server'}`, async (t) => {
      const { folder, run, accountsText } = await openFolder(t, isServed)
      const before = await accountsText()
      const rows: Record<string, string> = {
        'user add admin --if-missing': `There is user "admin" in ${folder} already; nothing has changed\n`,
        'client add script --if-missing --read-only': `There is client "script" in ${folder} already; nothing has changed\n`,
        'user remove nobody --if-present': `There is no user "nobody" in ${folder}; nothing has changed\n`,
        'client remove nobody --if-present': `There is no client "nobody" in ${folder}; nothing has changed\n`,
      }
      for (const [words, stderr] of Object.entries(rows))
        assert.deepEqual(await run(words, 'a secret'), { code: 0, stdout: '', stderr })
      assert.equal(await accountsText(), before)
      assert.equal(
        (await run('user add eve --if-missing', 'a secret')).stderr,
        `Added user "eve" in ${folder}\n`,
      )
      assert.equal((await run('user remove eve --if-present')).stderr, `Removed user "eve" in ${folder}\n`)
    })

  it('ask nobody for a password that would be of no use', async (t) => {
    for (const [words, code] of [
      ['user add admin', 4],
      ['user add admin --if-missing', 0],
      ['client add script --secret-stdin', 4],
      ['user passwd nobody', 3],
    ] as const) {
      const { folder, accountsText } = await openFolder(t)
      const before = await accountsText()
      const asked = typing('', () => assert.fail('it was asked for'))
      const done = await runCommand([...words.split(' '), '--data', folder], asked)
      assert.equal(done.code, code, done.stderr)
      assert.doesNotMatch(done.stderr, /Password|Secret of/)
      assert.equal(await accountsText(), before)
    }
  })

  it('take a chosen secret for a client, and never show it', async (t) => {
    const { folder, run, accountsText } = await openFolder(t)
    const chosen = 'chosen-secret-of-ci'
    assert.deepEqual(await run('client add ci --secret-stdin', `${chosen}\n`), {
      code: 0,
      stdout: 'client_id: ci\n',
      stderr: `Added client "ci" in ${folder}\n`,
    })
    const isChosen = async (secret: string) => {
      const accounts = (await accountsDocument(dataPaths(folder)).read()) ?? assert.fail('no accounts')
      return verifyPassword(secret, findAccount(accounts, 'client', 'ci')?.secret ?? '')
    }
    assert.equal(await isChosen(chosen), true)
    assert.doesNotMatch(await accountsText(), new RegExp(chosen))
    const next = 'the next secret of ci'
    const rotated = await run('client rotate ci --secret-stdin', next)
    assert.deepEqual([rotated.code, rotated.stdout.includes(next)], [0, false])
    assert.deepEqual([await isChosen(chosen), await isChosen(next)], [false, true])
    const named = await run('client add abcdefghijklmnop --secret-stdin', 'abcdefghijklmnop')
    assert.equal(named.code, 2)
    assert.match(named.stderr, /it is the id of the client/)
  })

  it('create nothing where no server has been started, unless they add an account to a new folder', async (t) => {
    const parent = await temporaryFolder(t)
    await mkdir(join(parent, 'empty'))
    await writeFile(join(parent, 'file'), '')
    await mkdir(join(parent, 'foreign'))
    await writeFile(join(parent, 'foreign', 'notes.txt'), '')
    for (const [words, names] of [
      [
        ['user', 'add', 'eve'],
        ['file', 'foreign', 'missing/too'],
      ],
      [
        ['client', 'list'],
        ['missing', 'empty', 'file'],
      ],
      [
        ['user', 'passwd', 'eve'],
        ['missing', 'empty'],
      ],
    ] as const) {
      for (const name of names) {
        const { code, stdout, stderr } = await runCommand([...words, '--data', join(parent, name)], {
          input: 'a secret',
        })
        assert.deepEqual([code, stdout], [1, ''])
        assert.match(
          stderr,
          /^connbook: Cannot find anything of connbook in "\/[^\n]+ with --data, or start connbook to make one\n$/,
        )
      }
    }
    await assert.rejects(access(join(parent, 'missing')), { code: 'ENOENT' })
    assert.deepEqual(await readdir(join(parent, 'empty')), [])
  })

  it('refuse a damaged file, and one that others can read', async (t) => {
    const { folder, run, accountsText } = await openFolder(t)
    const path = join(folder, dataFiles.accounts)
    await chmod(path, 0o640)
    assert.match((await run('client list')).stderr, /mode 0640\); run: chmod 600/)
    await chmod(path, 0o600)
    await writeFile(path, (await accountsText()).replace('"admin"', '"root"'))
    const { code, stderr } = await run('client add ci')
    assert.equal(code, 65)
    assert.match(
      stderr,
      /^connbook: Cannot read "[^"]+accounts\.json": checksum differs at byte 0; [^\n]+\n$/,
    )
  })
})

async function remove(t: TestContext, ...before: readonly string[][]) {
  const folder = await usedFolder(t)
  const run = (words: readonly string[]) => runCommand([...words, '--data', folder], { input: 'a secret' })
  for (const words of before) assert.equal((await run(words)).code, 0)
  return { folder, ...(await run(['client', 'remove', 'script'])) }
}

describe('removing an account', () => {
  it('warns when it was the last', async (t) => {
    const { folder, code, stdout, stderr } = await remove(t, ['user', 'remove', 'admin'])
    assert.deepEqual([code, stdout], [0, ''])
    assert.ok(stderr.includes(`Removed client "script" in ${folder}\n`), stderr)
    assert.ok(
      stderr.endsWith(
        `connbook: Warning: there is no user and no client any more, so nobody can log in; run: connbook user add NAME --data '${folder}'\n`,
      ),
      stderr,
    )
  })

  it('warns when only read-only accounts are left', async (t) => {
    const added = ['user', 'add', 'eve', '--read-only']
    const { code, stderr } = await remove(t, added, ['user', 'remove', 'admin'])
    assert.equal(code, 0)
    assert.match(
      stderr,
      /every account is read-only now, so nobody can change records; run: connbook user set \S+ --data '\S+' --read-write\n$/,
    )
  })

  it('does not warn while another can change records', async (t) => {
    const { folder, code, stderr } = await remove(t)
    assert.deepEqual([code, stderr], [0, `Removed client "script" in ${folder}\n`])
  })
})

describe('a start without accounts', () => {
  it('makes none, and logs that nobody can log in', async (t) => {
    const { folder } = await remove(t, ['user', 'remove', 'admin'])
    const { log } = await start(t, { folder })
    const warnings = log.lines.filter((line) => line.includes('nobody_can_log_in'))
    assert.equal(warnings.length, 1)
  })
})
