import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { BODY_BYTES_MAX, FREE_FAILURES, NAME_CHARACTERS_MAX } from '../../src/limits.ts'
import { getToken, logIn, pathOf } from '../support/api.ts'
import { noOpenSsl } from '../support/certificate.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { admin, client } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { noCaddy, startCaddySite } from './caddy.ts'
import { DELICATE_NAMES, sendDelicateNames } from './delicate-names.ts'

describe('connbook behind Caddy, set up as the manual says', { skip: noCaddy || noOpenSsl }, async () => {
  const { url, origin, folder } = await startCaddySite({ after })

  it('logs in with a cookie limited to its path and HTTPS, and logs out', async () => {
    const ask = createClient(url)
    const login = await ask('POST', '/login', { body: admin })
    assert.deepEqual([login.status, login.text], [200, 'Authorized'])
    const [cookie = '', ...more] = login.headers['set-cookie'] ?? []
    assert.match(cookie, /^__Secure-connbook_session=[^;]+; .*Path=\/connbook; .*Secure$/)
    assert.deepEqual(more, [])
    const headers = { Cookie: cookie.split(';')[0] ?? '' }
    assert.equal((await ask('GET', '/configurations/', { headers })).status, 200)
    assert.equal((await ask('POST', '/logout', { headers })).text, 'Success')
    const refusal = await ask('GET', '/configurations/', { headers })
    assert.equal(refusal.status, 403)
    for (const { headers } of [login, refusal])
      assert.equal(headers['strict-transport-security'], 'max-age=31536000')
    assert.equal((await createClient(origin)('GET', '/configurations/')).status, 404)
  })

  it('keeps delicate names unchanged, with a Location that leads to the record', async () => {
    const headers = await logIn(url, admin)
    const ask = createClient(url, headers)
    await sendDelicateNames(ask, createClient(origin, headers))
  })

  it('receives no request for a name that leads out of its path', async () => {
    const ask = createClient(url, await logIn(url, admin))
    for (const name of ['../../x', '../../../x', 'a/../../../b', '../../../../etc/passwd']) {
      const { location } = (await ask('POST', '/configurations/', { body: draft(name) })).headers
      assert.equal(location, `/connbook${pathOf(name)}`)
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const answer = await ask(method, pathOf(name))
        assert.equal(answer.status, 404, `${method} ${name}`)
        assert.equal(answer.headers['x-request-id'], undefined, 'connbook has answered')
      }
    }
  })

  it('gets conditions and bodies, and returns statuses and bodies, unchanged', async () => {
    const ask = createClient(url, await getToken(url, client))
    const { etag = '' } = (await ask('POST', '/configurations/', { body: draft('a') })).headers
    const unchanged = await ask('GET', '/configurations/a', { headers: { 'If-None-Match': etag } })
    assert.deepEqual([unchanged.status, unchanged.text, unchanged.headers.etag], [304, '', etag])
    const stale = { 'If-Match': '"stale"' }
    const tooLong = ' '.repeat(BODY_BYTES_MAX + 1)
    assert.equal((await ask('PATCH', '/configurations/a', { body: {}, headers: stale })).status, 412)
    assert.equal((await ask('POST', '/configurations/', { body: tooLong })).status, 413)
    assert.equal((await ask('POST', '/configurations/', { body: draft('a') })).status, 409)
    const chunked = { 'Transfer-Encoding': 'chunked' }
    const inChunks = await ask('POST', '/configurations/', { body: draft('b'), headers: chunked })
    assert.equal(inChunks.status, 200)
    const removed = await ask('DELETE', '/configurations/a', { headers: { 'If-Match': etag } })
    // Caddy sends no reason phrase for this status.
    assert.deepEqual([removed.status, removed.text], [209, ''])
  })

  it("refuses another site's writes, by the client's host and port", async () => {
    const ask = createClient(url, await logIn(url, admin))
    const writeFrom = async (headers: Record<string, string>) =>
      (await ask('PATCH', '/configurations/none', { body: {}, headers })).status
    assert.equal(await writeFrom({ Origin: origin }), 404)
    assert.equal(await writeFrom({ Origin: 'https://evil.example' }), 403)
    assert.equal(await writeFrom({ Origin: 'https://evil.example', 'X-Forwarded-Host': 'evil.example' }), 403)
    assert.equal(await writeFrom({ Origin: new URL(url).origin.replace(/:\d+$/, '') }), 403)
  })

  it("counts failed logins by the client's real address, not by one it invents", async () => {
    const attemptFrom = (localAddress: string, password: string, last: number) =>
      createClient(
        url,
        { 'X-Forwarded-For': `192.0.2.${last}`, 'X-Forwarded-Proto': 'http' },
        { localAddress },
      )('POST', '/login', { body: { ...admin, password } })
    for (let i = 0; i < FREE_FAILURES; i += 1)
      assert.equal((await attemptFrom('127.0.0.2', 'wrong', i)).status, 401)
    assert.equal((await attemptFrom('127.0.0.2', admin.password, 99)).status, 429)
    const login = await attemptFrom('127.0.0.3', admin.password, 7)
    assert.equal(login.status, 200)
    assert.match(String(login.headers['set-cookie']), /; Secure$/)
    const trail = (await readFile(join(folder, 'audit.jsonl'), 'utf8')).trimEnd().split('\n')
    const events = trail.slice(-FREE_FAILURES - 2).map((line) => {
      const { event, address } = JSON.parse(line) as { event: string; address: string }
      return `${event} ${address}`
    })
    assert.deepEqual(events, [
      ...Array.from({ length: FREE_FAILURES }, () => 'login_failed 127.0.0.2'),
      'login_throttled 127.0.0.2',
      'logged_in 127.0.0.3',
    ])
  })
})

describe('connbook behind Caddy, set up in another way', { skip: noCaddy || noOpenSsl }, () => {
  it('can use a Unix socket, and says who calls', async (t) => {
    const socket = join(await temporaryFolder(t), 'http')
    const { url, folder } = await startCaddySite(t, {
      changes: [['reverse_proxy 127.0.0.1:0 {', `reverse_proxy unix/${socket} {`]],
      without: '--trust-proxy 127.0.0.1/32',
      flags: ['--trust-proxy', 'unix'],
      socket,
    })
    const from = { localAddress: '127.0.0.2' }
    const login = await createClient(url, {}, from)('POST', '/login', { body: admin })
    assert.match(String(login.headers['set-cookie']), /; Secure$/)
    assert.match(await readFile(join(folder, 'audit.jsonl'), 'utf8'), /"logged_in","address":"127\.0\.0\.2"/)
  })

  it('can have a host name of its own', async (t) => {
    const { url } = await startCaddySite(t, {
      changes: [
        ['handle /connbook/* {', 'handle {'],
        ['\thandle {\n\t\trespond 404\n\t}\n', ''],
      ],
      without: '--base-path /connbook',
    })
    const headers = await logIn(url, admin)
    assert.match(headers.Cookie, /^__Host-connbook_session=/)
    const ask = createClient(url, headers)
    for (const name of [...DELICATE_NAMES, '../../x', '../../../../etc/passwd']) {
      const { location = '' } = (await ask('POST', '/configurations/', { body: draft(name) })).headers
      assert.deepEqual(namesIn(await ask('GET', location)), [name])
    }
  })

  it('answers conditional requests while Caddy compresses the list', async (t) => {
    const directive = 'handle /connbook/* {'
    const { url } = await startCaddySite(t, { changes: [[directive, `encode gzip\n${directive}`]] })
    const ask = createClient(url, await getToken(url, client))
    const long = '😀'.repeat(NAME_CHARACTERS_MAX)
    assert.equal((await ask('POST', '/configurations/', { body: draft(long) })).status, 200)
    const packed = { 'Accept-Encoding': 'gzip' }
    for (const path of ['/configurations/', pathOf(long)]) {
      const { headers } = await ask('GET', path, { headers: packed })
      assert.equal(headers['content-encoding'], 'gzip')
      const condition = { ...packed, 'If-None-Match': headers.etag ?? '' }
      assert.equal((await ask('GET', path, { headers: condition })).status, 304)
    }
    const { etag = '' } = (await ask('GET', pathOf(long))).headers
    const changed = await ask('PATCH', pathOf(long), { body: { port: 23 }, headers: { 'If-Match': etag } })
    assert.equal(changed.status, 200)
  })
})
