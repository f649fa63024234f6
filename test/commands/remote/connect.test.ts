import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chown, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { loginsOf } from '../../../src/client/logins.ts'
import { parseCommandLine } from '../../../src/command-line/command-line.ts'
import { OpenedBooks } from '../../../src/command-line/opened-books.ts'
import { clientFlags, connect } from '../../../src/commands/remote/connect.ts'
import { ownerSocketPath } from '../../../src/files/data-folder.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { admin, client, start, usedFolder } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openHome, openServer, web1 } from './client-home.ts'
import { problemOf, serveOther } from './other-server.ts'

const DEFAULT = 'http://localhost:8080'
const isRoot = process.getuid?.() === 0
const notRoot = isRoot ? false : 'only root can give files away'
const OTHER = 65_534

/** Connects as a command does. @param folder Stands for ./data. */
async function connectWith(
  t: TestContext,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  folder: string,
) {
  const { options, given } = parseCommandLine(args, environment, clientFlags)
  const isNamed = given.has('--data') || environment.CONNBOOK_DATA !== undefined
  const opened = new OpenedBooks()
  t.after(() => opened.letGo())
  const context = { environment, opened, screen: { write() {}, draw() {} } }
  return connect({ options: isNamed ? options : { ...options, data: folder }, given }, context, 'ls')
}

/** The name of the place that it finds. */
async function placeOf(...words: Parameters<typeof connectWith>) {
  return (await connectWith(...words)).endpoint.name
}

/** A private folder with a socket on which something answers as whoami does. */
async function folderWithSocket(t: TestContext) {
  const folder = await temporaryFolder(t)
  const server = createServer((_, response) => void response.end('{"account":"me"}'))
  t.after(() => void server.close())
  await once(server.listen(ownerSocketPath(folder)), 'listening')
  return folder
}

async function keep(environment: NodeJS.ProcessEnv, ...servers: string[]) {
  for (const server of servers)
    await loginsOf(environment).keep({ server, user: 'eve', cookie: `session=of-${new URL(server).port}` })
}

/** A server that reports what each call brings along. */
async function openEcho(t: TestContext) {
  const seen: string[] = []
  const url = await serveOther(t, async (request, response) => {
    const { authorization, cookie } = request.headers
    const body = Buffer.concat(await request.toArray()).toString()
    seen.push([request.url, authorization, cookie, body].filter(Boolean).join(' '))
    response.end('{"access_token":"granted","account":"me"}')
  })
  return { url, seen }
}

describe('which server is called', () => {
  it('is the first that is given of flags, variables, the login and the default', async (t) => {
    const { environment } = await openHome(t)
    const none = await temporaryFolder(t)
    const [byFlag, byVariable] = [await folderWithSocket(t), await folderWithSocket(t)]
    const all: NodeJS.ProcessEnv = { ...environment }
    const { endpoint } = await connectWith(t, [], all, none)
    assert.equal(endpoint.name, DEFAULT)
    assert.match(
      endpoint.remedy ?? '',
      /^there is nothing of connbook in "[^"]+" either; name a server .* --data FOLDER$/,
    )
    await keep(environment, 'http://127.0.0.1:1')
    assert.equal(await placeOf(t, [], all, none), 'http://127.0.0.1:1')
    all.CONNBOOK_DATA = byVariable
    assert.equal(await placeOf(t, [], all, none), byVariable)
    all.CONNBOOK_SERVER = 'http://127.0.0.1:2'
    assert.equal(await placeOf(t, [], all, none), 'http://127.0.0.1:2')
    const flags = ['--data', byFlag]
    assert.equal(await placeOf(t, flags, all, none), byFlag)
    assert.equal(
      await placeOf(t, [...flags, '--server', 'http://127.0.0.1:3/'], all, none),
      'http://127.0.0.1:3',
    )
  })

  it('is the book in ./data after the login, whether a server has it or not', async (t) => {
    const { environment } = await openHome(t)
    const folder = await folderWithSocket(t)
    for (const data of [folder, await usedFolder(t)])
      assert.equal(await placeOf(t, [], environment, data), data)
    await keep(environment, 'http://127.0.0.1:1')
    assert.equal(await placeOf(t, [], environment, folder), 'http://127.0.0.1:1')
  })

  it('is not that of somebody else in ./data, unless it is named', { skip: notRoot }, async (t) => {
    const { environment } = await openHome(t)
    const folder = await folderWithSocket(t)
    await chown(folder, OTHER, OTHER)
    await assert.rejects(placeOf(t, [], environment, folder), {
      code: 'invalid_usage',
      message: /it belongs to another account \(owner 65534, mode 0700\); .* name it: --data \//,
    })
    assert.equal(await placeOf(t, ['--data', folder], environment, folder), folder)
  })

  it('must be said when there are several logins', async (t) => {
    const { environment, run } = await openHome(t)
    await keep(environment, 'http://127.0.0.1:1', 'https://book.example:8443/base')
    const { code, stderr } = await run(['ls'])
    const list = '\n  --server http://127.0.0.1:1\n  --server https://book.example:8443/base\n'
    assert.equal(code, 2)
    assert.equal(stderr, `connbook: There are logins at several servers; say which one:${list}`)
  })

  it('may be the host of a login, with or without its port', async (t) => {
    const { environment, run } = await openHome(t)
    await keep(environment, 'https://book.example:8443/base', 'http://127.0.0.1:1', 'http://127.0.0.1:2')
    const byHost = (host: string) => placeOf(t, ['--server', host], environment, '/nowhere')
    assert.equal(await byHost('book.example'), 'https://book.example:8443/base')
    assert.equal(await byHost('book.example:8443'), 'https://book.example:8443/base')
    assert.equal(await byHost('127.0.0.1:2'), 'http://127.0.0.1:2')
    for (const [host, reason] of [
      ['127.0.0.1', 'several logins are at that host'],
      ['example', 'there is no login at a host of that name'],
    ] as const) {
      const { code, stderr } = await run(['ls'], { environment: { CONNBOOK_SERVER: host } })
      assert.equal(code, 2)
      assert.ok(stderr.startsWith(`connbook: Cannot tell which server "${host}" is: ${reason}; `), stderr)
    }
  })

  it('is not reached through a link to nothing, which is named', async (t) => {
    const { run } = await openHome(t)
    const link = join(await temporaryFolder(t), 'link')
    await symlink('/nowhere/data', link)
    for (const path of [link, join(link, 'below')]) {
      const { code, stderr } = await run(['ls', '--data', path])
      assert.equal(code, 1)
      assert.match(stderr, /"[^"]+link": it is a link to "\/nowhere\/data", and nothing is there/)
    }
  })

  it('can be on a Unix socket with a base path of its own kind, or below a base path', async (t) => {
    const { environment } = await openHome(t)
    const home = await openServer(t)
    const socket = `unix:${ownerSocketPath(home.service.folder.path)}`
    assert.equal(await placeOf(t, ['--server', socket], environment, '/nowhere'), socket)
    const service = await start(t, { flags: ['--base-path', '/book'] })
    const { code, stderr } = await home.run(
      ['add', 'x', '--hostname', 'h', '--port', '1', '--username', 'u'],
      {
        environment: { CONNBOOK_SERVER: service.url, CONNBOOK_TOKEN: (await service.bearer()).slice(7) },
      },
    )
    assert.deepEqual([code, stderr], [0, `Added "x" at ${service.url}\n`])
    assert.ok(service.url.endsWith('/book'))
  })

  it('is offered as a URL when the scheme is missing', async (t) => {
    const { run } = await openHome(t)
    for (const words of [
      ['login', 'localhost:1'],
      ['ls', '--server', 'localhost:1'],
    ]) {
      const { code, stderr } = await run(words)
      assert.equal(code, 2)
      assert.match(stderr, /; did you mean http:\/\/localhost:1\?\n$/)
    }
  })

  it('is offered as https where the port speaks TLS', async (t) => {
    const { run } = await openHome(t)
    const { url } = await start(t, { tls: await makeCertificate(t) })
    const { port } = new URL(url)
    for (const words of [
      ['login', `localhost:${port}`],
      ['ls', '--server', `127.0.0.1:${port}`],
    ]) {
      const { code, stderr } = await run(words)
      assert.equal(code, 2)
      assert.ok(stderr.endsWith(`; did you mean https://${words.at(-1)}?\n`), stderr)
    }
  })

  it('is refused with a password, which no message repeats', async (t) => {
    const { run } = await openHome(t)
    for (const args of [
      ['ls', '--server', 'http://bob:s3cret@h'],
      ['ls', '--server', 'bob:s3cret@h'],
      ['ls', '--server', 'ftp://bob:s3cret@h'],
      ['login', 'https://bob:s3/cr@et@h'],
      ['backup', '-', '--etcd', 'http://bob:s3cret@h'],
      ['healthcheck', 'ftp://bob:s3cret@h'],
      ['healthcheck', 'http://bob:s3cret@127.0.0.1:1'],
    ]) {
      const { stdout, stderr } = await run(args)
      assert.match(stderr, /^connbook: /, args.join(' '))
      assert.doesNotMatch(stdout + stderr, /s3/, args.join(' '))
    }
    const { stderr } = await run(['ls', '--server', 'http://bob:s3cret@h'])
    assert.match(stderr, /; leave user and password out, and give them to connbook login http:\/\/h\n$/)
  })

  it('is refused when the text is not a place', async (t) => {
    const { run } = await openHome(t)
    for (const text of ['ftp://x', 'http://x/?q', 'unix:', 'http://']) {
      const { code, stderr } = await run(['ls', '--server', text])
      assert.equal(code, 2, text)
      assert.match(stderr, /give a URL such as https:\/\/book\.example\.net, or unix:PATH\n$/)
    }
  })
})

describe('who calls', () => {
  it('is the first that is given of token, client and login', async (t) => {
    const { url, seen } = await openEcho(t)
    const { environment, run } = await openHome(t, { CONNBOOK_SERVER: url })
    const more: NodeJS.ProcessEnv = {}
    const call = async () => {
      seen.length = 0
      assert.equal((await run(['whoami'], { environment: more })).code, 0)
      return seen
    }
    assert.deepEqual(await call(), ['/v1/whoami'])
    await keep(environment, 'http://127.0.0.1:1')
    assert.deepEqual(await call(), ['/v1/whoami'])
    await keep(environment, url)
    assert.deepEqual(await call(), [`/v1/whoami session=of-${new URL(url).port}`])
    more.CONNBOOK_LOGIN_CLIENT_ID = 'script'
    more.CONNBOOK_LOGIN_CLIENT_SECRET = 'secret'
    assert.deepEqual(await call(), [
      '/v1/auth/token {"client_id":"script","client_secret":"secret"}',
      '/v1/whoami Bearer granted',
    ])
    more.CONNBOOK_TOKEN = 'mine'
    assert.deepEqual(await call(), ['/v1/whoami Bearer mine'])
  })

  it('is nobody of these on the socket of the owner', async (t) => {
    const { service } = await openServer(t, [web1])
    const { run } = await openHome(t, { CONNBOOK_TOKEN: 'wrong', CONNBOOK_DATA: service.folder.path })
    assert.equal((await run(['ls', '--names'])).stdout, 'web1\n')
  })

  it('is a client of the server, with the secret of a file', async (t) => {
    const { service } = await openServer(t)
    const file = join(await temporaryFolder(t), 'secret')
    await writeFile(file, `\ufeff${client.client_secret}\r\n`)
    const { run } = await openHome(t, {
      CONNBOOK_SERVER: service.url,
      CONNBOOK_LOGIN_CLIENT_ID: client.client_id,
      CONNBOOK_LOGIN_CLIENT_SECRET_FILE: file,
    })
    assert.match((await run(['whoami'])).stdout, /\naccount\tscript\n/)
    await writeFile(file, 'another')
    const { code, stderr } = await run(['whoami'])
    assert.equal(code, 5)
    assert.match(
      stderr,
      /^connbook: No token from [^\n]+: The client is unknown or its secret is wrong \(invalid_client\); /,
    )
    assert.match(stderr, /; see CONNBOOK_LOGIN_CLIENT_ID and CONNBOOK_LOGIN_CLIENT_SECRET\n$/)
  })

  it('is told that it is not the client of a first start', async (t) => {
    const { service } = await openServer(t)
    const { run } = await openHome(t, {
      CONNBOOK_SERVER: service.url,
      CONNBOOK_CLIENT_ID: client.client_id,
      CONNBOOK_CLIENT_SECRET: client.client_secret,
    })
    const hint =
      /; CONNBOOK_CLIENT_ID is for the first start of a server, and this command reads CONNBOOK_LOGIN_CLIENT_ID and CONNBOOK_LOGIN_CLIENT_SECRET\n$/
    const without = await run(['ls'])
    assert.deepEqual([without.code, without.stdout], [5, ''])
    assert.match(without.stderr, hint)
    const half = await run(['ls'], { environment: { CONNBOOK_LOGIN_CLIENT_ID: client.client_id } })
    assert.equal(half.code, 2)
    assert.match(half.stderr, hint)
  })

  it('must be complete, and a token must be one', async (t) => {
    const { run } = await openHome(t, { CONNBOOK_SERVER: 'http://127.0.0.1:1' })
    const half = await run(['ls'], { environment: { CONNBOOK_LOGIN_CLIENT_ID: 'x' } })
    assert.deepEqual(
      [half.code, half.stderr],
      [2, 'connbook: Cannot use CONNBOOK_LOGIN_CLIENT_ID: set CONNBOOK_LOGIN_CLIENT_SECRET, too\n'],
    )
    const broken = await run(['ls'], { environment: { CONNBOOK_TOKEN: 'a\r\nb' } })
    assert.deepEqual(
      [broken.code, broken.stderr],
      [2, 'connbook: Cannot use CONNBOOK_TOKEN: it is not a token\n'],
    )
  })

  it('tries once with --no-retry, also to get a token', async (t) => {
    let calls = 0
    const url = await serveOther(t, (_, response) => {
      calls += 1
      response.writeHead(503, { 'Retry-After': '1' })
      response.end(JSON.stringify(problemOf(503, 'busy', 'It is busy')))
    })
    const byToken = { CONNBOOK_TOKEN: 'x' }
    const byClient = { CONNBOOK_LOGIN_CLIENT_ID: 'x', CONNBOOK_LOGIN_CLIENT_SECRET: 'y' }
    for (const environment of [byToken, byClient]) {
      calls = 0
      const { run } = await openHome(t, { CONNBOOK_SERVER: url, ...environment })
      const { code, stderr } = await run(['ls', '--no-retry'])
      assert.deepEqual([code, stderr, calls], [1, 'connbook: It is busy\n', 1])
    }
  })

  it('is told how to log in when it did not, or when the session has ended', async (t) => {
    const { service } = await openServer(t)
    const { run, environment } = await openHome(t, { CONNBOOK_SERVER: service.url })
    const none = await run(['ls'])
    assert.deepEqual(none, {
      code: 5,
      stdout: '',
      stderr: `connbook: Not let in at ${service.url} without a login: connbook login ${service.url}\n`,
    })
    await loginsOf(environment).keep({ server: service.url, user: 'admin', cookie: await service.cookie() })
    assert.equal((await run(['ls'])).code, 0)
    const [login] = await loginsOf(environment).list()
    await service.call('/logout', { method: 'POST', headers: { Cookie: login?.cookie ?? '' } })
    const ended = await run(['ls'])
    assert.deepEqual(ended, {
      code: 5,
      stdout: '',
      stderr: `connbook: The login at ${service.url} has ended; log in again: connbook login ${service.url}\n`,
    })
    const token = await run(['ls'], { environment: { CONNBOOK_TOKEN: 'x' } })
    assert.deepEqual([token.code, token.stderr.split('\n').length], [5, 2])
  })
})

describe('the way to a server', () => {
  it('is not taken with a credential over plain HTTP, except with --plain', async (t) => {
    const { url, seen } = await openEcho(t)
    // This machine, and yet no address of the loopback interface.
    const server = url.replace('127.0.0.1', '0.0.0.0')
    const { run } = await openHome(t, { CONNBOOK_SERVER: server })
    const byToken = { CONNBOOK_TOKEN: 'mine' }
    const byClient = { CONNBOOK_LOGIN_CLIENT_ID: 'x', CONNBOOK_LOGIN_CLIENT_SECRET: 'y' }
    for (const environment of [byToken, byClient]) {
      const { code, stderr } = await run(['whoami'], { environment })
      assert.equal(code, 5)
      assert.match(stderr, /^connbook: Nothing was sent to [^\n]+; use https, or add --plain\n$/)
    }
    assert.deepEqual(seen, [])
    assert.equal((await run(['whoami', '--plain'], { environment: byToken })).code, 0)
    assert.equal((await run(['whoami'])).code, 0)
    assert.deepEqual(seen, ['/v1/whoami Bearer mine', '/v1/whoami'])
  })

  it('is taken only to a certificate that is trusted', async (t) => {
    const tls = await makeCertificate(t)
    const { url } = await start(t, { tls })
    const server = url.replace('127.0.0.1', 'localhost')
    const { run } = await openHome(t, { CONNBOOK_TOKEN: 'x' })
    const call = (...flags: string[]) => run(['ls', '--server', server, ...flags])
    const unknown = await call()
    assert.equal(unknown.code, 6)
    assert.match(
      unknown.stderr,
      /^connbook: Cannot trust the certificate of https:[^\n]+; give --ca FILE [^\n]+\n$/,
    )
    assert.equal((await call('--ca', tls.certPath)).code, 5)
    const byVariable = { environment: { CONNBOOK_CA: tls.certPath } }
    assert.equal((await run(['ls', '--server', server], byVariable)).code, 5)
    const ofAnother = await run(['ls', '--server', server.replace('localhost', '127.0.0.1')], byVariable)
    assert.equal(ofAnother.code, 6)
    assert.match(
      ofAnother.stderr,
      /\(ERR_TLS_CERT_ALTNAME_INVALID\); it is of another host \(localhost\); name the server as its certificate does\n$/,
    )
    const missing = await call('--ca', '/nowhere.pem')
    assert.equal(missing.code, 2)
    assert.match(missing.stderr, /^connbook: [^\n]*--ca [^\n]*\/nowhere\.pem[^\n]*\n$/)
    assert.equal((await call('--ca', tls.keyPath)).code, 2)
  })

  it('keeps the certificate of a login', async (t) => {
    const tls = await makeCertificate(t)
    const { url } = await start(t, { tls })
    const server = url.replace('127.0.0.1', 'localhost')
    const { run } = await openHome(t)
    const login = ['login', server, '--user', admin.username, '--ca', tls.certPath]
    const { code, stderr } = await run(login, { input: admin.password })
    assert.deepEqual([code, stderr], [0, `Logged in as admin at ${server}\n`])
    assert.match((await run(['whoami'])).stdout, /\naccount\tadmin\n/)
    assert.equal((await run(['logout'])).code, 0)
  })
})
