import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { access, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { findInitialCredentials } from '../../src/auth/initial-credentials.ts'
import { dataFiles, dataPaths, ownerSocketPath } from '../../src/files/data-folder.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { getToken, logIn } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient, recordsIn } from '../support/http-client.ts'
import { hurryClock } from '../support/hurried-clock.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const eve = { username: 'eve', password: 'a secret' }

/** A path where there is no folder yet, and a way to run commands there. */
async function newPlace(t: TestContext) {
  const parent = await temporaryFolder(t)
  const folder = join(parent, 'data')
  const run = (words: readonly string[], input = 'a secret') =>
    runCommand([...words, '--data', folder], { input })
  const list = async (kind: string) => (await run([kind, 'list'])).stdout
  return { parent, folder, run, list }
}

const made = (folder: string) =>
  `connbook: Made the data folder "${folder}"; the first start of the server adds what is missing\n`

const added = (name: string, folder: string) => `Added user "${name}" in ${folder}\n`

const imported = (folder: string) => `Imported to ${folder}: 1 added, 0 modified, 0 removed, 0 unchanged\n`

/** The owner's socket of a server that was killed. */
async function leaveSocket(folder: string): Promise<void> {
  const path = ownerSocketPath(folder)
  const server = createServer().listen(`${path}-2`)
  await once(server, 'listening')
  await rename(`${path}-2`, path)
  await new Promise((resolve) => server.close(resolve))
}

async function importFile(parent: string): Promise<string> {
  const file = join(parent, 'hosts.csv')
  await writeFile(file, 'name,hostname,port,username\nweb1,web1.example.net,22,deploy\n')
  return file
}

describe('a data folder that a command prepares before the first start', () => {
  it('has the user that was added; the first start makes no second one, and the client', async (t) => {
    const { folder, run, list } = await newPlace(t)
    const { code, stdout, stderr } = await run(['user', 'add', 'eve'])
    assert.deepEqual([code, stdout, stderr], [0, '', `${made(folder)}${added('eve', folder)}`])
    assert.equal((await stat(folder)).mode & 0o777, 0o700)
    assert.equal((await run(['check'])).code, 0)

    const server = await start(t, { folder, environment: {} })
    await logIn(server.url, eve)
    assert.deepEqual([await list('user'), await list('client')], ['eve\n', 'default\n'])
    const kept = await findInitialCredentials(dataPaths(folder))
    assert.deepEqual(Object.keys(kept ?? {}), ['client_id', 'client_secret'])
    assert.ok(!server.log.lines.some((line) => line.includes('first_start_variables_ignored')))
    await server.stop()

    // It is an ordinary folder now: what is removed stays removed.
    assert.equal((await run(['client', 'remove', 'default'])).code, 0)
    const again = await start(t, { folder, environment: {} })
    await logIn(again.url, eve)
    assert.equal(await list('client'), '')
  })

  it('has the client that was added; the first start makes the user, and no second client', async (t) => {
    const { folder, run, list } = await newPlace(t)
    const { stdout } = await run(['client', 'add', 'deploy'])
    const secret = /client_secret: (\S+)/.exec(stdout)?.[1] ?? assert.fail(stdout)
    const { url } = await start(t, { folder, environment: {} })
    await getToken(url, { client_id: 'deploy', client_secret: secret })
    assert.deepEqual([await list('user'), await list('client')], ['admin\tadmin\n', 'deploy\n'])
  })

  it('gets a user that can change records beside read-only ones', async (t) => {
    const { folder, run, list } = await newPlace(t)
    assert.equal((await run(['user', 'add', 'eve', '--read-only'])).code, 0)
    await start(t, { folder, environment: {} })
    assert.equal(await list('user'), 'admin\tadmin\neve\tread-only\n')
  })

  it('gets accounts with other names if read-only ones have the usual names', async (t) => {
    const { folder, run, list } = await newPlace(t)
    for (const [kind, name] of [
      ['user', 'admin'],
      ['user', 'admin2'],
      ['client', 'default'],
    ] as const)
      assert.equal((await run([kind, 'add', name, '--read-only'])).code, 0)
    const { url, madeUp } = await start(t, { folder, environment: {} })
    assert.deepEqual([madeUp?.username, madeUp?.client_id], ['admin3', 'default2'])
    await logIn(url, { username: 'admin3', password: madeUp?.password ?? '' })
    assert.equal(await list('client'), 'default\tread-only\ndefault2\n')
  })

  it('gets the accounts that variables name; for accounts that exist, variables are ignored', async (t) => {
    const { folder, run, list } = await newPlace(t)
    for (const words of [
      ['user', 'add', 'eve'],
      ['client', 'add', 'deploy'],
    ])
      assert.equal((await run(words)).code, 0)
    const environment = {
      CONNBOOK_ADMIN_USERNAME: 'eve',
      CONNBOOK_ADMIN_PASSWORD: 'another one',
      CONNBOOK_CLIENT_ID: 'ci',
      CONNBOOK_CLIENT_SECRET: 'chosen for a client',
    }
    const { url, log } = await start(t, { folder, environment })
    await logIn(url, eve)
    await getToken(url, { client_id: 'ci', client_secret: 'chosen for a client' })
    assert.deepEqual([await list('user'), await list('client')], ['eve\n', 'ci\ndeploy\n'])
    const ignored = log.lines.filter((line) => line.includes('first_start_variables_ignored'))
    assert.equal(ignored.length, 1)
    assert.match(ignored[0] ?? '', /"variables":"CONNBOOK_ADMIN_USERNAME CONNBOOK_ADMIN_PASSWORD"/)
    assert.equal(await findInitialCredentials(dataPaths(folder)), undefined)
  })

  it('has the records of an import; the first start makes user and client', async (t) => {
    const { parent, folder, run, list } = await newPlace(t)
    const file = await importFile(parent)
    const { code, stderr } = await run(['import', file])
    assert.deepEqual([code, stderr], [0, `${made(folder)}${imported(folder)}`])
    assert.equal((await run(['check'])).code, 0)
    const { url } = await start(t, { folder, environment: {} })
    const { username = '', password = '' } = (await findInitialCredentials(dataPaths(folder))) ?? {}
    const ask = createClient(url, await logIn(url, { username, password }))
    assert.deepEqual(
      recordsIn(await ask('GET', '/configurations/')).map(({ name }) => name),
      ['web1'],
    )
    assert.deepEqual([await list('user'), await list('client')], ['admin\tadmin\n', 'default\n'])
  })

  it('can be an empty folder, and can be prepared by several commands', async (t) => {
    const { parent, folder, run, list } = await newPlace(t)
    await mkdir(folder)
    assert.equal((await run(['user', 'add', 'eve'])).stderr, `${made(folder)}${added('eve', folder)}`)
    assert.equal((await run(['user', 'add', 'max'])).stderr, added('max', folder))
    assert.equal((await run(['import', await importFile(parent)])).stderr, imported(folder))
    await start(t, { folder, environment: {} })
    assert.equal(await list('user'), 'eve\nmax\n')
  })

  it('can be made by several commands at the same time', async (t) => {
    // No command gives up, however busy the machine is.
    t.mock.method(performance, 'now', () => 0)
    const { run, list } = await newPlace(t)
    const names = ['ann', 'eve', 'max']
    const runs = await Promise.all(names.map((name) => run(['user', 'add', name])))
    assert.deepEqual(
      runs.map(({ code }) => code),
      [0, 0, 0],
      runs.map(({ stderr }) => stderr).join(''),
    )
    assert.deepEqual((await list('user')).trimEnd().split('\n'), names)
  })

  it('is made by those whose change is made, whoever is refused at the same time', async (t) => {
    t.mock.method(performance, 'now', () => 0)
    const { run, list } = await newPlace(t)
    const bad = ['set', 'web1', '--create', '--hostname', 'web1']
    const words = [bad, ['user', 'add', 'ann'], bad, bad, ['client', 'add', 'ci'], bad]
    const runs = await Promise.all(words.map((each) => run(each)))
    assert.deepEqual(
      runs.map(({ code }) => code),
      [2, 0, 2, 2, 0, 2],
      runs.map(({ stderr }) => stderr).join(''),
    )
    assert.deepEqual([await list('user'), await list('client')], ['ann\n', 'ci\n'])
  })

  it('is not made by a bad name, a bad password, a faulty file or a dry run', async (t) => {
    const { parent, folder, run } = await newPlace(t)
    const file = await importFile(parent)
    assert.match((await run(['import', file, '--dry-run'])).stdout, /^Would add 1, /m)
    await writeFile(file, 'name,hostname\n')
    for (const [words, input] of [
      [['user', 'add', ''], 'a secret'],
      [['user', 'add', 'eve'], ''],
      [['import', file], ''],
    ] as const) {
      assert.notEqual((await run(words, input)).code, 0, words.join(' '))
      await assert.rejects(access(folder), { code: 'ENOENT' })
    }
    assert.deepEqual(await readdir(parent), ['hosts.csv'])
  })

  const refused: readonly (readonly [words: readonly string[], input?: string])[] = [
    [['add', 'web1']],
    [['add', 'web1', 'deploy@web1', '--port', '0']],
    [['add', '', 'deploy@web1']],
    [['add', 'web1', 'deploy@web1', '--label', 'no spaces=1']],
    [['set', 'web1', '--create', '--hostname', 'web1']],
    [['set', 'web1', '--create', '--hostname', 'web1', '--port', 'x', '--username', 'u']],
    [
      [
        'set',
        'web1',
        '--create',
        '--hostname',
        'web1',
        '--port',
        '22',
        '--username',
        'u',
        '--if-match',
        'tag',
      ],
    ],
    [['user', 'add', '']],
    [['user', 'add', 'eve'], 'eve'],
    [['client', 'add', 'a:b']],
    [['client', 'add', 'ci', '--secret-stdin'], 'short'],
    [['import', '-', '--format', 'csv'], 'name,hostname,port,username\nweb1,web1,0,deploy\n'],
    [['import', '-', '--format', 'csv'], 'name,hostname,port,username\nweb1,h,1,u\nweb1,h,2,u\n'],
  ]
  const before: Record<string, readonly string[] | undefined> = {
    'that is missing': undefined,
    'that is empty': [],
    'that a first start left half made': [dataFiles.journal, dataFiles.keys],
  }
  for (const [which, names] of Object.entries(before)) {
    it(`stays one ${which} when the change is refused`, async (t) => {
      const { parent, folder, run } = await newPlace(t)
      if (names !== undefined) await (await start(t, { folder, environment: {} })).stop()
      const entries = names === undefined ? [] : await readdir(folder)
      for (const name of entries) if (!names?.includes(name)) await rm(join(folder, name))
      for (const [words, input] of refused) {
        const { code, stderr } = await run(words, input)
        assert.ok([1, 2, 4].includes(code ?? -1), `${words.join(' ')}: ${code} ${stderr}`)
        assert.doesNotMatch(stderr, /Made the data folder/)
        const left = names === undefined ? await readdir(parent) : await readdir(folder)
        assert.deepEqual(
          left.filter((name) => name !== dataFiles.lock).sort(),
          [...(names ?? [])].sort(),
          stderr,
        )
      }
      const { code, stderr } = await run(['user', 'add', 'eve'])
      assert.deepEqual([code, stderr], [0, `${made(folder)}${added('eve', folder)}`])
    })
  }

  const leftBehind: Record<string, readonly string[]> = {
    'a socket': ['.control'],
    journal: [dataFiles.journal],
    'journal and revocations': [dataFiles.journal, dataFiles.revocations],
    'all but the accounts': [
      dataFiles.journal,
      dataFiles.revocations,
      dataFiles.keys,
      dataFiles.initialCredentials,
    ],
  }
  for (const [what, names] of Object.entries(leftBehind)) {
    it(`can be one of which a first start that was killed left ${what}`, async (t) => {
      const { folder, run, list } = await newPlace(t)
      await (await start(t, { folder, environment: {} })).stop()
      for (const name of await readdir(folder)) if (!names.includes(name)) await rm(join(folder, name))
      if (names.includes('.control')) await leaveSocket(folder)
      const { code, stderr } = await run(['user', 'add', 'eve'])
      assert.deepEqual([code, stderr], [0, `${made(folder)}${added('eve', folder)}`])
      const { url } = await start(t, { folder, environment: {} })
      await logIn(url, eve)
      assert.deepEqual([await list('user'), await list('client')], ['eve\n', 'default\n'])
    })
  }

  it('is not one that has records, or files of other programs', async (t) => {
    const { parent, folder, run } = await newPlace(t)
    assert.equal((await run(['import', await importFile(parent)])).code, 0)
    await rm(join(folder, dataFiles.accounts))
    const { code, stderr } = await run(['user', 'add', 'eve'])
    assert.deepEqual([code, /accounts\.json": the file is missing/.test(stderr)], [65, true], stderr)
    await assert.rejects(access(join(folder, dataFiles.accounts)), { code: 'ENOENT' })
    assert.equal((await runCommand(['user', 'add', 'eve', '--data', parent], { input: 'a secret' })).code, 1)
  })

  it('does not warn that an account is missing, which the first start adds', async (t) => {
    const { folder, run } = await newPlace(t)
    await run(['user', 'add', 'eve'])
    assert.equal((await run(['user', 'remove', 'eve'])).stderr, `Removed user "eve" in ${folder}\n`)
  })

  it('is not taken from a server that makes it', async (t) => {
    const { folder, run } = await newPlace(t)
    const owner = await openDataFolder(folder)
    t.after(() => owner.release())
    hurryClock(t)
    assert.equal((await run(['user', 'add', 'eve'])).code, 75)
  })
})
