import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { BODY_BYTES_MAX } from '../../src/limits.ts'
import { getToken, logIn, pathOf } from '../support/api.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { admin, client } from '../support/service.ts'
import { draft } from '../support/store.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import { DELICATE_NAMES } from './delicate-names.ts'

/** connbook behind a proxy. */
export interface Site {
  /** As a client sees it, base path included. */
  readonly url: string
  /** The same without the base path. */
  readonly origin: string
}

/** Names whose `..` lead out of the base path, if a proxy decodes them. */
export const LEADING_OUT = ['../../x', '../../../x', 'a/../../../b', '../../../../etc/passwd']

/** Logs in with a cookie limited to the base path and HTTPS, and logs out. */
export async function checkLogin({ url, origin }: Site): Promise<void> {
  const ask = createClient(url)
  const login = await ask('POST', '/login', { body: admin })
  assert.deepEqual([login.status, login.text], [200, 'Authorized'])
  const [cookie = '', ...more] = login.headers['set-cookie'] ?? []
  assert.match(cookie, /^__Secure-connbook_session_[0-9a-f]{8}=[^;]+; .*Path=\/connbook; .*Secure$/)
  assert.deepEqual(more, [])
  const headers = { Cookie: cookie.split(';')[0] ?? '' }
  assert.equal((await ask('GET', '/configurations/', { headers })).status, 200)
  assert.equal((await ask('POST', '/logout', { headers })).text, 'Success')
  const refusal = await ask('GET', '/configurations/', { headers })
  assert.equal(refusal.status, 403)
  for (const { headers } of [login, refusal])
    assert.equal(headers['strict-transport-security'], 'max-age=31536000')
  assert.equal((await createClient(origin)('GET', '/configurations/')).status, 404)
}

/**
 * Conditions and bodies arrive unchanged, and so do statuses and bodies of answers.
 *
 * @returns The reason phrase of a delete.
 */
export async function checkConditionsAndBodies({ url }: Site): Promise<string> {
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
  assert.deepEqual([removed.status, removed.text], [209, ''])
  return removed.reason
}

/** Refuses another site's writes, by the client's host and port. */
export async function checkCrossSite({ url, origin }: Site): Promise<void> {
  const ask = createClient(url, await logIn(url, admin))
  const writeFrom = async (headers: Record<string, string>) =>
    (await ask('PATCH', '/configurations/none', { body: {}, headers })).status
  assert.equal(await writeFrom({ Origin: origin }), 404)
  assert.equal(await writeFrom({ Origin: 'https://evil.example' }), 403)
  assert.equal(await writeFrom({ Origin: 'https://evil.example', 'X-Forwarded-Host': 'evil.example' }), 403)
  assert.equal(await writeFrom({ Origin: new URL(url).origin.replace(/:\d+$/, '') }), 403)
}

/** Tells OAuth clients the URL that they use, not one that they invent. */
export async function checkIssuer({ url }: Site): Promise<void> {
  const headers = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http' }
  const answer = await createClient(url)('GET', '/.well-known/oauth-authorization-server', { headers })
  assert.equal(answer.json<{ issuer: string }>().issuer, url)
}

/** Counts failed logins by the client's real address, not by one it invents. */
export async function checkThrottling({ url, folder }: Site & { readonly folder: string }): Promise<void> {
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
}

/** Knows the client's host over HTTP/2, too. */
export async function checkHttp2(t: Lifetime, { url, origin }: Site): Promise<void> {
  const { Cookie } = await logIn(url, admin)
  const session = connect(origin, { rejectUnauthorized: false })
  t.after(() => session.destroy())
  const ask = async (method: string, path: string, from: string, body = '') => {
    const request = session.request(
      { ':method': method, ':path': `/connbook${path}`, cookie: Cookie, origin: from },
      { endStream: false },
    )
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    request.once('response', (headers) => resolve(headers[':status']))
    request.end(body)
    await request.toArray()
    return promise
  }
  await once(session, 'connect')
  assert.equal(session.alpnProtocol, 'h2')
  const body = JSON.stringify(draft('a/b'))
  assert.equal(await ask('POST', '/configurations/', 'https://evil.example', body), 403)
  assert.equal(await ask('POST', '/configurations/', origin, body), 200)
  assert.equal(await ask('GET', '/configurations/a%2Fb', origin), 200)
  assert.equal(await ask('DELETE', '/configurations/a%2Fb', origin), 209)
}

/** Reaches every name when the site has a host name of its own, thus no base path. */
export async function checkOwnHostName({ url }: Site): Promise<void> {
  const headers = await logIn(url, admin)
  assert.match(headers.Cookie, /^__Host-connbook_session_[0-9a-f]{8}=/)
  const ask = createClient(url, headers)
  for (const name of [...DELICATE_NAMES, ...LEADING_OUT]) {
    const { location = '' } = (await ask('POST', '/configurations/', { body: draft(name) })).headers
    assert.equal(location, pathOf(name))
    assert.deepEqual(namesIn(await ask('GET', location)), [name])
  }
}

/**
 * Answers conditional requests while the proxy compresses.
 *
 * @param name So long that its record is compressed.
 */
export async function checkCompressed({ url }: Site, name: string): Promise<void> {
  const ask = createClient(url, await getToken(url, client))
  assert.equal((await ask('POST', '/configurations/', { body: draft(name) })).status, 200)
  const packed = { 'Accept-Encoding': 'gzip' }
  for (const path of ['/configurations/', pathOf(name)]) {
    const { headers } = await ask('GET', path, { headers: packed })
    assert.equal(headers['content-encoding'], 'gzip')
    const condition = { ...packed, 'If-None-Match': headers.etag ?? '' }
    assert.equal((await ask('GET', path, { headers: condition })).status, 304)
  }
  const { etag = '' } = (await ask('GET', pathOf(name))).headers
  const changed = await ask('PATCH', pathOf(name), { body: { port: 23 }, headers: { 'If-Match': etag } })
  assert.equal(changed.status, 200)
}
