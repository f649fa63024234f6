import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { access, chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { writeInitialCredentials } from '../../src/auth/initial-credentials.ts'
import { DamagedFileError, InvalidInputError, UsageError } from '../../src/errors.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import {
  createFirstAccounts,
  givenVariables,
  readFirstStartValues,
  welcome,
} from '../../src/service/first-start.ts'
import { logIn } from '../support/api.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { createClient } from '../support/http-client.ts'
import { admin, client, firstStartEnvironment, start } from '../support/service.ts'
import { openedFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { getIn, initialCredentialsIn } from './first-credentials.ts'

const given = {
  CONNBOOK_ADMIN_USERNAME: 'root',
  CONNBOOK_ADMIN_PASSWORD: 'given password',
  CONNBOOK_CLIENT_ID: 'ci',
  CONNBOOK_CLIENT_SECRET: 'given secret of a client',
}

/** The text of all files in a folder. */
async function textOf(folder: string): Promise<string> {
  const names = await readdir(folder)
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'latin1')))).join('\n')
}

async function firstStart(t: TestContext, environment: NodeJS.ProcessEnv) {
  const folder = await openedFolder(t)
  const { accounts, madeUp } = await createFirstAccounts(folder, await readFirstStartValues(environment))
  return { folder: folder.path, accounts, madeUp }
}

describe('the first start', () => {
  it('creates other credentials for another folder', async (t) => {
    const [one, two] = [await firstStart(t, {}), await firstStart(t, {})]
    assert.notEqual(one.madeUp.password, two.madeUp.password)
    assert.notEqual(one.madeUp.client_secret, two.madeUp.client_secret)
  })
})

describe('welcome', () => {
  it('leads to no console where there is none', async (t) => {
    const madeUp = { username: 'admin', password: 'p', client_id: 'c', client_secret: 's' }
    const place = { url: 'http://localhost', socket: undefined, hasConsole: false }
    assert.doesNotMatch(welcome(madeUp, await openedFolder(t), place), /browser/)
  })

  it('uses the Unix socket, whatever its path', async (t) => {
    const madeUp = { username: 'admin', password: 'p', client_id: 'c', client_secret: 's' }
    const place = { url: 'http://localhost', socket: "/run/o'neil", hasConsole: true }
    const text = welcome(madeUp, await openedFolder(t), place)
    assert.doesNotMatch(text, /browser/)
    const lines = text.match(/^ +curl.*/gm)
    assert.equal(lines?.length, 5)
    for (const line of lines ?? []) assert.ok(line.includes(`curl --unix-socket '/run/o'\\''neil' `), line)
  })
})

describe('the variables of the first start', () => {
  it('set all credentials, and are never written in the clear', async (t) => {
    const { folder, accounts, madeUp } = await firstStart(t, given)
    assert.deepEqual([accounts.users[0]?.name, accounts.clients[0]?.name], ['root', 'ci'])
    assert.deepEqual(madeUp, {})
    const text = await textOf(folder)
    assert.match(text, /"root"/)
    assert.doesNotMatch(text, /given password|given secret/)
    await assert.rejects(access(join(folder, dataFiles.initialCredentials)), { code: 'ENOENT' })
  })

  const partly: readonly (readonly [variables: readonly (keyof typeof given)[], told: readonly string[]])[] =
    [
      [['CONNBOOK_ADMIN_PASSWORD'], ['client_id', 'client_secret']],
      [['CONNBOOK_CLIENT_SECRET'], ['username', 'password']],
      [
        ['CONNBOOK_ADMIN_USERNAME', 'CONNBOOK_CLIENT_ID'],
        ['username', 'password', 'client_id', 'client_secret'],
      ],
    ]
  for (const [variables, told] of partly) {
    it(`leave ${told.join(', ')} to be shown when only ${variables.join(' and ')} are given`, async (t) => {
      const environment = Object.fromEntries(variables.map((variable) => [variable, given[variable]]))
      const { folder, madeUp } = await firstStart(t, environment)
      assert.deepEqual(Object.keys(madeUp), told)
      assert.deepEqual(await initialCredentialsIn(folder), madeUp)
      if (variables.length === 2) assert.deepEqual([madeUp.username, madeUp.client_id], ['root', 'ci'])
      assert.doesNotMatch(await textOf(folder), /given password|given secret/)
    })
  }

  for (const [content, password] of Object.entries({
    'sixteen or more b\n': 'sixteen or more b',
    'sixteen or more b\r\n': 'sixteen or more b',
    'sixteen or more b': 'sixteen or more b',
    '\ufeffsixteen or more b\r\n': 'sixteen or more b',
  })) {
    it(`may be files: ${JSON.stringify(content)} holds ${JSON.stringify(password)}`, async (t) => {
      const file = join(await temporaryFolder(t), 'secret')
      await writeFile(file, content)
      // As containers mount secrets.
      await chmod(file, 0o444)
      const { url } = await start(t, {
        environment: { CONNBOOK_ADMIN_PASSWORD_FILE: file, CONNBOOK_CLIENT_SECRET_FILE: file },
      })
      assert.deepEqual(
        await getIn(url, { username: 'admin', password, client_id: 'default', client_secret: password }),
        [true, true],
      )
    })
  }

  const bad: Record<string, readonly [environment: NodeJS.ProcessEnv, message: RegExp]> = {
    'a value and a file': [
      { CONNBOOK_CLIENT_ID: 'a', CONNBOOK_CLIENT_ID_FILE: '/dev/null' },
      /both CONNBOOK_CLIENT_ID and CONNBOOK_CLIENT_ID_FILE/,
    ],
    'a missing file': [
      { CONNBOOK_ADMIN_PASSWORD_FILE: '/missing/file' },
      /CONNBOOK_ADMIN_PASSWORD_FILE "\/missing\/file": ENOENT/,
    ],
    'an empty file': [
      { CONNBOOK_CLIENT_SECRET_FILE: '/dev/null' },
      /CONNBOOK_CLIENT_SECRET_FILE "\/dev\/null": it is empty/,
    ],
    'an endless file': [
      { CONNBOOK_CLIENT_SECRET_FILE: '/dev/zero' },
      /CONNBOOK_CLIENT_SECRET_FILE "\/dev\/zero": it is longer than 1024 bytes/,
    ],
    'a file that is not text': [
      { CONNBOOK_ADMIN_PASSWORD_FILE: process.execPath },
      /CONNBOOK_ADMIN_PASSWORD_FILE ".+": it is (not UTF-8|longer)/,
    ],
    'a secret that no request could show': [
      { CONNBOOK_CLIENT_SECRET: 'é'.repeat(513) },
      /^Cannot use CONNBOOK_CLIENT_SECRET: it is longer than 1024 bytes(; choose a shorter one)?$/,
    ],
    'a password that is too short': [
      { CONNBOOK_ADMIN_PASSWORD: '😀'.repeat(7) },
      /^Cannot use CONNBOOK_ADMIN_PASSWORD: it is shorter than 8 characters; choose a longer one$/,
    ],
    'a secret that is too short, in a file': [
      { CONNBOOK_CLIENT_SECRET_FILE: '/proc/sys/kernel/ostype' },
      /^Cannot use CONNBOOK_CLIENT_SECRET_FILE: it is shorter than 16 characters; choose a longer one$/,
    ],
    'the name as password': [
      { CONNBOOK_ADMIN_USERNAME: 'operator', CONNBOOK_ADMIN_PASSWORD: 'operator' },
      /^Cannot use CONNBOOK_ADMIN_PASSWORD: it is the name of the user; choose another$/,
    ],
    'the id as secret': [
      { CONNBOOK_CLIENT_ID: 'a-client-with-a-long-id', CONNBOOK_CLIENT_SECRET: 'a-client-with-a-long-id' },
      /^Cannot use CONNBOOK_CLIENT_SECRET: it is the id of the client; choose another$/,
    ],
    'a password that Node did not understand': [
      { CONNBOOK_ADMIN_PASSWORD: 'p\ufffdss' },
      /^Cannot use CONNBOOK_ADMIN_PASSWORD: it is not UTF-8$/,
    ],
    'a password with a second line, which is blank': [
      { CONNBOOK_ADMIN_PASSWORD: 'a password\n\n' },
      /^Cannot use CONNBOOK_ADMIN_PASSWORD: it has more than one line; give one line$/,
    ],
    'a secret that ends with a blank': [
      { CONNBOOK_CLIENT_SECRET: 'sixteen or more ' },
      /^Cannot use CONNBOOK_CLIENT_SECRET: it begins or ends with white space, U\+0020; leave it out$/,
    ],
    'a bad name': [{ CONNBOOK_ADMIN_USERNAME: 'a\nb' }, /Cannot name a user/],
    'an id that Basic cannot carry': [{ CONNBOOK_CLIENT_ID: 'a:b' }, /Cannot name a client "a:b"/],
  }
  for (const [what, [environment, message]] of Object.entries(bad)) {
    it(`that are ${what} are refused, and a later start is still the first`, async (t) => {
      const folder = await temporaryFolder(t)
      await assert.rejects(start(t, { folder, environment }), (error) => {
        assert.ok(error instanceof UsageError || error instanceof InvalidInputError)
        assert.match(error.message, message)
        return true
      })
      assert.deepEqual(await readdir(folder), [dataFiles.lock])
      assert.ok((await start(t, { folder, environment: {} })).madeUp?.password)
    })
  }

  it('are refused when their file is not UTF-8', async (t) => {
    const file = join(await temporaryFolder(t), 'secret')
    await writeFile(file, 'pässwörd', 'latin1')
    const environment = { CONNBOOK_ADMIN_PASSWORD_FILE: file }
    const message = `Cannot use CONNBOOK_ADMIN_PASSWORD_FILE "${file}": it is not UTF-8`
    await assert.rejects(start(t, { environment }), { name: 'UsageError', message })
  })

  it('change nothing later, and the log says so', async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder })).stop()
    const { CONNBOOK_ADMIN_PASSWORD, ...others } = given
    const environment = { ...others, CONNBOOK_ADMIN_PASSWORD_FILE: '/missing/file', CONNBOOK_DATA: 'x' }
    const { log, madeUp, url } = await start(t, { folder, environment })
    assert.equal(madeUp, undefined)
    const line = JSON.parse(log.lines.find((text) => text.includes('first_start_variables_ignored')) ?? '{}')
    assert.equal(line.level, 'warn')
    assert.deepEqual(
      line.variables.split(' ').sort(),
      Object.keys(environment)
        .filter((key) => key !== 'CONNBOOK_DATA')
        .sort(),
    )
    assert.ok(!log.lines.join('').includes('given'))
    assert.deepEqual(await getIn(url, { ...admin, ...client }), [true, true])
  })

  it('count as unset when they are empty', () => {
    assert.deepEqual(givenVariables({ CONNBOOK_CLIENT_ID: '', CONNBOOK_CLIENT_ID_FILE: 'x' }), [
      'CONNBOOK_CLIENT_ID_FILE',
    ])
  })
})

describe('a first start that was interrupted', () => {
  const order = [
    dataFiles.journal,
    dataFiles.revocations,
    dataFiles.keys,
    dataFiles.initialCredentials,
    dataFiles.accounts,
  ]
  for (let made = 0; made < order.length; made += 1) {
    it(`${made === 0 ? 'before any file' : `after ${order[made - 1]}`} is repeated`, async (t) => {
      const folder = await temporaryFolder(t)
      await (await start(t, { folder, environment: {} })).stop()
      for (const name of [...order.slice(made), dataFiles.snapshot])
        await rm(join(folder, name), { force: true })
      const { madeUp, url } = await start(t, { folder, environment: {} })
      assert.deepEqual(await initialCredentialsIn(folder), madeUp)
      assert.deepEqual(await getIn(url, madeUp ?? {}), [true, true])
    })
  }

  for (const name of [dataFiles.initialCredentials, dataFiles.accounts]) {
    it(`by a disk that fails on ${name} is repeated`, async (t) => {
      const folder = await temporaryFolder(t)
      const files = createFailingFiles()
      failOn(files, 'rename', name, 'EIO')
      await assert.rejects(start(t, { folder, environment: {}, files }), { code: 'EIO' })
      const { madeUp, url } = await start(t, { folder, environment: {} })
      assert.deepEqual(await getIn(url, madeUp ?? {}), [true, true])
    })
  }

  it('leaves no file with credentials that do not work', async (t) => {
    const folder = await temporaryFolder(t)
    await writeInitialCredentials(dataPaths(folder), { username: 'admin', password: 'never stored' })
    await start(t, { folder, environment: firstStartEnvironment })
    await assert.rejects(access(join(folder, dataFiles.initialCredentials)), { code: 'ENOENT' })
  })
})

describe('a folder from which a file is missing', () => {
  for (const name of [dataFiles.accounts, dataFiles.keys, dataFiles.revocations]) {
    it(`${name} is damaged, and is not treated as new`, async (t) => {
      const folder = await temporaryFolder(t)
      const first = await start(t, { folder })
      const body = { name: 'web1', hostname: 'a.example', port: 22, username: 'ops' }
      await createClient(first.url, await logIn(first.url, admin))('POST', '/configurations/', { body })
      await first.stop()
      await rm(join(folder, name))
      await assert.rejects(start(t, { folder }), (error) => {
        return (
          error instanceof DamagedFileError &&
          error.message.includes(`${name}": the file is missing at byte 0; `)
        )
      })
      await assert.rejects(access(join(folder, name)), { code: 'ENOENT' })
    })
  }
})
