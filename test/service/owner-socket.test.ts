import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { lstat, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { systemCode } from '../../src/errors.ts'
import { ownerSocketPath } from '../../src/files/data-folder.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { systemAccount } from '../../src/system-account.ts'
import { logIn } from '../support/api.ts'
import { makeCertificate } from '../support/certificate.ts'
import { eventually } from '../support/eventually.ts'
import { createFailingFiles, holdUp } from '../support/failing-files.ts'
import { createClient, type Headers, namesIn } from '../support/http-client.ts'
import { asOwner } from '../support/owner.ts'
import { admin, start, type TestService } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function linesOf({ folder }: TestService, event: string) {
  const lines = (await readFile(join(folder.path, 'audit.jsonl'), 'utf8')).trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line)).filter((line) => line.event === event)
}

/** What a caller over the network might try. */
const claims: readonly Headers[] = [
  { 'Connbook-Account': 'root' },
  { 'Connbook-Account': 'root', 'Connbook-Command': 'import' },
  { 'X-Forwarded-For': 'unix' },
  { 'X-Forwarded-For': 'unix', 'X-Forwarded-Proto': 'unix', Forwarded: 'for=unix', 'X-Real-IP': 'unix' },
  { Host: 'localhost', 'X-Forwarded-Host': '.control', 'X-Original-URL': '/configurations/' },
  { Authorization: 'Socket root', 'Connbook-Account': 'root' },
  { Cookie: 'connbook_session=socket', 'Connbook-Account': 'root' },
  { 'Is-Owner': 'true', isOwner: 'true', 'Connbook-Command': 'http' },
]

describe("the owner's socket", () => {
  it('is a private file, and takes reads and changes without a credential', async (t) => {
    const service = await start(t)
    const { mode } = await lstat(ownerSocketPath(service.folder.path))
    assert.equal(mode.toString(8), '140600')
    const ask = asOwner(service)
    const added = await ask('POST', '/configurations/', { body: draft('a') })
    assert.deepEqual([added.status, added.headers.location], [200, '/configurations/a'])
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['a'])
    for (const path of ['/metrics', '/readyz', '/v1/export?format=csv'])
      assert.equal((await ask('GET', path)).status, 200, path)
    assert.equal((await ask('GET', '/none')).status, 404)
    assert.equal((await ask('POST', '/logout')).status, 200)
    assert.equal((await ask('DELETE', '/configurations/a')).status, 209)
  })

  it('has no base path, and its answers have none', async (t) => {
    const service = await start(t, { flags: ['--base-path', '/v1'] })
    const ask = asOwner(service)
    const { headers } = await ask('POST', '/configurations/', { body: draft('a') })
    assert.equal(headers.location, '/configurations/a')
    const page = await ask('GET', '/configurations/?page=0&per_page=1')
    assert.match(String(page.headers.link), /^<\/configurations\/\?/)
    const Cookie = await service.cookie()
    const other = await service.call('/configurations/?page=0&per_page=1', { headers: { Cookie } })
    assert.match(other.headers.get('link') ?? '', /^<\/v1\/configurations\/\?/)
    assert.equal((await ask('POST', '/v1/import', { body: [draft('b')] })).status, 200)
    assert.equal((await ask('GET', '/v1/configurations/')).status, 404)
  })

  it('shows in the audit trail the system account and the command that the caller names', async (t) => {
    const service = await start(t)
    const named = asOwner(service, { 'Connbook-Account': 'j%C3%B6rg', 'Connbook-Command': 'import' })
    await named('POST', '/configurations/', { body: draft('a') })
    await named('POST', '/v1/import', { body: [draft('a')] })
    await asOwner(service)('POST', '/configurations/', { body: draft('b') })
    await service.stop()
    const shown = await linesOf(service, 'configuration_added')
    assert.deepEqual(
      shown.map(({ command, by, kind, address }) => [command, by, kind, address]),
      [
        ['import', 'jörg', undefined, undefined],
        ['http', systemAccount(), undefined, undefined],
      ],
    )
    const [{ command, by, unchanged } = {} as Record<string, unknown>] = await linesOf(
      service,
      'configurations_imported',
    )
    assert.deepEqual([command, by, unchanged], ['import', 'jörg', 1])
    const again = await start(t, { folder: service.folder.path, environment: {} })
    assert.deepEqual(namesIn(await asOwner(again)('GET', '/configurations/')), ['a', 'b'])
  })

  it('keeps who used sudo beside the account in trail and history, and not in events', async (t) => {
    const service = await start(t)
    const claim = { 'Connbook-Account': 'root', 'Connbook-Command': 'set', 'Connbook-Sudo-User': 'alice' }
    await asOwner(service, claim)('POST', '/configurations/', { body: draft('a') })
    await asOwner(service, { ...claim, 'Connbook-Sudo-User': 'root' })('PATCH', '/configurations/a', {
      body: { port: 23 },
    })
    const network = { Authorization: await service.bearer(), ...claim }
    await service.call('/configurations/a', { method: 'DELETE', headers: network })
    const told = JSON.parse((await asOwner(service)('GET', '/v1/history')).text)
    const { history } = told as { history: { by: string; via?: object; command?: string }[] }
    assert.deepEqual(
      history.map(({ by, command, via }) => [by, command, via]),
      [
        ['script', undefined, undefined],
        ['root', 'set', undefined],
        ['root', 'set', { claimed: 'alice' }],
      ],
    )
    await service.stop()
    const [added] = await linesOf(service, 'configuration_added')
    assert.deepEqual(added.via, { claimed: 'alice' })
    const again = await start(t, { folder: service.folder.path, environment: {} })
    const { text } = await asOwner(again)('GET', '/v1/history?limit=3')
    assert.equal(text.split('alice').length - 1, 1)
  })

  it('refuses what is not a name', async (t) => {
    const service = await start(t)
    const { status, text } = await asOwner(service, { 'Connbook-Account': '%0a' })('GET', '/configurations/')
    assert.deepEqual([status, /connbook-account/.test(text)], [400, true])
  })

  it('judges a request with a token by the token, and ignores a cookie', async (t) => {
    const service = await start(t)
    const bad = asOwner(service, { Authorization: 'Bearer a.b.c' })
    assert.equal((await bad('GET', '/configurations/')).status, 403)
    const good = asOwner(service, { Authorization: await service.bearer() })
    await good('POST', '/configurations/', { body: draft('a') })
    await asOwner(service, { Cookie: await service.cookie() })('POST', '/configurations/', {
      body: draft('b'),
    })
    await service.stop()
    const shown = await linesOf(service, 'configuration_added')
    assert.deepEqual(
      shown.map(({ kind, command }) => kind ?? command),
      ['client', 'http'],
    )
  })

  it('refuses a change that a page of another site requests', async (t) => {
    const service = await start(t)
    const sites = [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ] as Headers[]
    for (const headers of sites) {
      const answer = await asOwner(service)('POST', '/configurations/', { headers, body: draft('a') })
      assert.deepEqual([answer.status, /cross_site/.test(answer.text)], [403, true])
    }
  })

  it('makes nobody its owner over TCP, whatever the headers', async (t) => {
    for (const flags of [[], ['--trust-proxy', '127.0.0.1/32'], ['--trust-proxy', 'unix']]) {
      const service = await start(t, { flags })
      for (const headers of claims) {
        const answer = await createClient(service.url, headers)('GET', '/configurations/')
        assert.equal(answer.status, 403, JSON.stringify(headers))
      }
    }
  })

  it('makes nobody its owner on the Unix socket of --listen', async (t) => {
    const path = join(await temporaryFolder(t), 's')
    const place = ['--listen', `unix:${path}`]
    const service = await start(t, { place, flags: ['--trust-proxy', 'unix'] })
    for (const headers of claims) {
      const ask = createClient(service.url, headers, { socketPath: path })
      assert.equal((await ask('GET', '/configurations/')).status, 403, JSON.stringify(headers))
    }
    assert.equal((await asOwner(service)('GET', '/configurations/')).status, 200)
  })

  it('lets nobody speak as a proxy, even with --trust-proxy unix', async (t) => {
    const service = await start(t, { flags: ['--trust-proxy', 'unix'] })
    const headers = { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https' }
    const answer = await asOwner(service, headers)('POST', '/login', { body: admin })
    assert.doesNotMatch(String(answer.headers['set-cookie']), /Secure/)
    assert.equal((await linesOf(service, 'logged_in'))[0].address, 'unix')
  })

  it('promises no HTTPS', async (t) => {
    const service = await start(t, { tls: await makeCertificate(t) })
    const { status, headers } = await asOwner(service)('GET', '/configurations/')
    assert.deepEqual([status, headers['strict-transport-security']], [200, undefined])
    assert.equal(headers['x-content-type-options'], 'nosniff')
  })

  it('keeps its sessions apart: a login there is one of the user', async (t) => {
    const service = await start(t)
    const { headers } = await asOwner(service)('POST', '/login', { body: admin })
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const ask = createClient(service.url, { Cookie: cookie })
    assert.equal((await ask('GET', '/configurations/')).status, 200)
    assert.notEqual(cookie, (await logIn(service.url, admin)).Cookie)
  })

  it('answers what has begun when the server stops, and is gone then', async (t) => {
    const files = createFailingFiles()
    const service = await start(t, { files, folder: await temporaryFolder(t) })
    const path = ownerSocketPath(service.folder.path)
    const idle = connect(path)
    await once(idle, 'connect')
    const closed = once(idle.resume(), 'close')
    const held = holdUp(files, 'datasync')
    const answered = asOwner(service)('POST', '/configurations/', { body: draft('a') })
    await held.begun
    const stopped = service.stop()
    await closed
    await assert.rejects(lstat(path), { code: 'ENOENT' })
    held.release()
    assert.equal((await answered).status, 200)
    await stopped
  })

  it('says while the records are read that they are', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const folder = await temporaryFolder(t)
    await (await start(t, { folder })).stop()
    const files = createFailingFiles()
    const reading = holdUp(files, 'read', 'journal.jsonl')
    const starting = start(t, { folder, files, environment: {}, flags: ['--base-path', '/b'] })
    await reading.begun
    const ask = createClient('http://localhost', {}, { socketPath: ownerSocketPath(folder) })
    assert.deepEqual(
      [(await ask('GET', '/healthz')).status, (await ask('GET', '/readyz')).status],
      [200, 503],
    )
    const waiting = ask('GET', '/configurations/')
    reading.release()
    await starting
    assert.equal((await waiting).status, 200)
  })

  it('replaces a stale one', async (t) => {
    const service = await start(t)
    const folder = service.folder.path
    // Under another name the file outlives its server, like that of a killed process.
    await rename(ownerSocketPath(folder), join(folder, 'aside'))
    await service.stop()
    await rename(join(folder, 'aside'), ownerSocketPath(folder))
    const next = await start(t, { folder, environment: {} })
    assert.equal((await asOwner(next)('GET', '/configurations/')).status, 200)
    assert.ok(!next.log.events.includes('owner_socket_failed'))
  })

  it('answers everybody who has connected when the server stops, and nobody finds it after that', async (t) => {
    const service = await start(t)
    const path = ownerSocketPath(service.folder.path)
    const ask = asOwner(service)
    const late = connect(path)
    // The server has accepted none of them when it is told to stop.
    const added = Array.from({ length: 5 }, (_, i) =>
      ask('POST', '/configurations/', { body: draft(`n${i}`) }),
    )
    const stopped = service.stop()
    await eventually('the socket is gone', () =>
      lstat(path).then(
        () => false,
        () => true,
      ),
    )
    late.end('GET /configurations/ HTTP/1.1\r\nHost: localhost\r\n\r\n')
    assert.match((await late.toArray()).join(''), /^HTTP\/1\.1 200 /)
    for (const { status } of await Promise.all(added)) assert.equal(status, 200)
    await stopped
    const next = await start(t, { folder: service.folder.path, environment: {} })
    assert.equal(namesIn(await asOwner(next)('GET', '/configurations/')).length, 5)
  })

  it('is left out with a warning when its path is too long for the system', async (t) => {
    const folder = join(await temporaryFolder(t), 'x'.repeat(100))
    const service = await start(t, { folder })
    assert.deepEqual(service.log.events.slice(0, 1), ['owner_socket_failed'])
    const { socket, reason } = JSON.parse(service.log.lines[0] ?? '')
    assert.equal(socket, ownerSocketPath(folder))
    assert.match(reason, /^its path has \d+ bytes, and the system takes 107$/)
    assert.equal((await service.call('/readyz')).status, 200)
    assert.ok(!(await readdir(folder)).includes('.control'))
  })

  it('is left out with a warning when something else has its name, which stays', async (t) => {
    for (const make of [mkdir, (path: string) => writeFile(path, 'mine')]) {
      const folder = await temporaryFolder(t)
      await make(ownerSocketPath(folder))
      const service = await start(t, { folder })
      assert.match(service.log.lines[0] ?? '', /owner_socket_failed.*no socket; move it away/)
      assert.equal((await service.call('/readyz')).status, 200)
      await service.stop()
      assert.ok((await readdir(folder)).includes('.control'))
    }
  })

  it('does not give its path to --listen', async (t) => {
    const folder = await temporaryFolder(t)
    const place = ['--listen', `unix:${ownerSocketPath(folder)}`]
    await assert.rejects(start(t, { folder, place }), { code: 'cannot_listen' })
    assert.ok(!(await readdir(folder)).includes('.control'))
  })

  it('is not there after a start that fails', async (t) => {
    const folder = await temporaryFolder(t)
    const { url } = await start(t)
    const place = ['--host', '127.0.0.1', '--port', new URL(url).port]
    await assert.rejects(start(t, { folder, place }), { code: 'cannot_listen' })
    assert.ok(!(await readdir(folder)).includes('.control'))
  })

  it('counts as one of the connections', async (t) => {
    const service = await start(t)
    const socket = connect(ownerSocketPath(service.folder.path))
    t.after(() => void socket.destroy())
    await once(socket, 'connect')
    const { text } = await asOwner(service)('GET', '/metrics')
    assert.match(text, /^connbook_http_connections 2$/m)
    socket.destroy()
    await eventually('the connection is no longer counted', async () => {
      const now = await asOwner(service)('GET', '/metrics')
      return /^connbook_http_connections 1$/m.test(now.text)
    })
  })

  it('is apart for each server', async (t) => {
    const [one, other] = [await start(t), await start(t)]
    await asOwner(one)('POST', '/configurations/', { body: draft('a') })
    assert.deepEqual(namesIn(await asOwner(one)('GET', '/configurations/')), ['a'])
    assert.deepEqual(namesIn(await asOwner(other)('GET', '/configurations/')), [])
    await one.stop()
    const failure = await asOwner(one)('GET', '/healthz').catch(systemCode)
    assert.equal(failure, 'ENOENT')
    assert.equal((await asOwner(other)('GET', '/healthz')).status, 200)
  })
})
