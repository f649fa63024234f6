import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { BODY_BYTES_MAX } from '../../src/limits.ts'
import { getToken, logIn, pathOf } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { type Answer, createClient, namesIn } from '../support/http-client.ts'
import { admin, client } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { sendDelicateNames } from './delicate-names.ts'
import { noNginx } from './nginx.ts'
import { type PublishedSite, startPublishedSite } from './published-site.ts'
import { checkHttp2, checkIssuer } from './site-checks.ts'
import { readTcpConnections } from './tcp-connections.ts'

const PROBLEM_TYPE = 'application/problem+json'

describe('connbook behind nginx, set up as the manual says', { skip: noNginx }, async () => {
  const site = await startPublishedSite({ after })
  const { url, origin, nginx } = site

  it('logs in with a cookie limited to its path and HTTPS, and logs out', async () => {
    const ask = createClient(url)
    const login = await ask('POST', '/login', { body: admin })
    assert.deepEqual([login.status, login.text], [200, 'Authorized'])
    const [cookie = '', ...more] = login.headers['set-cookie'] ?? []
    assert.match(
      cookie,
      /^__Secure-connbook_session_[0-9a-f]{8}=[^;]+; HttpOnly; SameSite=Strict; Path=\/connbook; Max-Age=43200; Secure$/,
    )
    assert.deepEqual(more, [])
    assert.equal(login.headers['strict-transport-security'], 'max-age=31536000')
    const headers = { Cookie: cookie.split(';')[0] ?? '' }
    assert.equal((await ask('GET', '/configurations/', { headers })).status, 200)
    assert.equal((await ask('POST', '/logout', { headers })).text, 'Success')
    const refusal = await ask('GET', '/configurations/', { headers })
    assert.equal(refusal.status, 403)
    assert.equal(refusal.headers['strict-transport-security'], 'max-age=31536000')
    assert.equal((await createClient(origin)('GET', '/configurations/')).status, 404)
  })

  it('keeps delicate names unchanged, with a Location that leads to the record', async () => {
    const headers = await logIn(url, admin)
    // The longest request id and the longest record name give the longest head of an answer.
    const ask = createClient(url, { ...headers, 'X-Request-Id': 'r'.repeat(128) })
    await sendDelicateNames(ask, createClient(origin, headers))
    assert.deepEqual(await nginx.upstreamErrors(), [])
  })

  it('receives no request for a name that leads out of its path', async () => {
    const ask = createClient(url, await logIn(url, admin))
    for (const name of ['../../x', '../../../x', 'a/../../../b', '../../../../etc/passwd']) {
      const { location } = (await ask('POST', '/configurations/', { body: draft(name) })).headers
      assert.equal(location, `/connbook${pathOf(name)}`)
      const answer = await ask('GET', pathOf(name))
      assert.ok([400, 404].includes(answer.status), `${name}: ${answer.status}`)
      assert.equal(answer.headers['x-request-id'], undefined, 'connbook has answered')
    }
  })

  it('gets conditions and bodies, and returns statuses and bodies, unchanged', async () => {
    const ask = createClient(url, await getToken(url, client))
    const added = await ask('POST', '/configurations/', { body: draft('a') })
    const { etag = '' } = added.headers
    assert.match(etag, /^"/)
    const read = await ask('GET', '/configurations/a')
    const head = await ask('HEAD', '/configurations/a')
    assert.deepEqual([head.status, head.text], [200, ''])
    for (const name of ['content-length', 'content-type', 'etag', 'cache-control', 'content-security-policy'])
      assert.equal(head.headers[name], read.headers[name], name)

    const unchanged = await ask('GET', '/configurations/a', { headers: { 'If-None-Match': etag } })
    assert.deepEqual([unchanged.status, unchanged.text, unchanged.headers.etag], [304, '', etag])
    const options = await ask('OPTIONS', '/configurations/a')
    assert.deepEqual([options.status, options.headers.allow], [204, 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'])

    const problems: [status: number, answer: Promise<Answer>][] = [
      [400, ask('POST', '/configurations/', { body: { ...draft('b'), port: '22' } })],
      [400, ask('GET', '/configurations/?page=1')],
      [400, ask('GET', '/configurations/%FF')],
      [404, ask('GET', '/configurations/none')],
      [404, ask('GET', '/nothing')],
      [405, ask('POST', '/configurations/a')],
      [412, ask('PATCH', '/configurations/a', { body: {}, headers: { 'If-Match': '"stale"' } })],
      [413, ask('POST', '/configurations/', { body: ' '.repeat(BODY_BYTES_MAX + 1) })],
      [413, ask('POST', '/configurations/', { body: ' '.repeat(1_000_000) })],
      [415, ask('POST', '/configurations/', { body: '<a/>', headers: { 'Content-Type': 'text/xml' } })],
      [403, createClient(url)('GET', '/configurations/')],
    ]
    for (const [status, answer] of problems) {
      const problem = await answer
      assert.equal(problem.status, status, problem.text)
      assert.equal(problem.headers['content-type'], PROBLEM_TYPE)
      assert.equal(problem.json<{ status: number }>().status, status)
    }
    const clash = await ask('POST', '/configurations/', { body: draft('a') })
    assert.deepEqual([clash.status, namesIn(clash)], [409, ['a']])
    const longest = JSON.stringify(draft('b')).padEnd(BODY_BYTES_MAX)
    assert.equal((await ask('POST', '/configurations/', { body: longest })).status, 200)
    const chunked = { 'Transfer-Encoding': 'chunked' }
    const inChunks = await ask('POST', '/configurations/', { body: draft('c'), headers: chunked })
    assert.equal(inChunks.status, 200)

    const removed = await ask('DELETE', '/configurations/a', { headers: { 'If-Match': etag } })
    assert.deepEqual([removed.status, removed.reason, removed.text], [209, 'Deleted', ''])
    assert.equal(removed.headers['content-length'], '0')
  })

  it('passes on an import of many records', async () => {
    const headers = { ...(await getToken(url, client)), 'Content-Type': 'application/json' }
    const names = Array.from({ length: 20_000 }, (_, i) => `import ${i}`)
    const body = JSON.stringify(names.map((name) => draft(name)))
    assert.ok(body.length > 1_048_576)
    const answer = await createClient(url, headers)('POST', '/v1/import?dry_run=1', { body })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json<{ added: number }>().added, names.length)
  })

  it('gives page links that go through the proxy', async () => {
    const headers = await getToken(url, client)
    const ask = createClient(url, headers)
    const askOrigin = createClient(origin, headers)
    for (let i = 7; i > 0; i -= 1) await ask('POST', '/configurations/', { body: draft(`page ${i}`) })
    const names = namesIn(await ask('GET', '/configurations/?sort=name'))
    const found: string[] = []
    let target: string | undefined = '/connbook/configurations/?sort=name&page=0&per_page=3'
    while (target !== undefined) {
      const page: Answer = await askOrigin('GET', target)
      assert.equal(page.headers['x-total-count'], String(names.length))
      found.push(...namesIn(page))
      target = /<([^>]+)>; rel="next"/.exec(String(page.headers.link))?.[1]
    }
    assert.deepEqual(found, names)
  })

  it("refuses another site's writes, by the client's host and port", async () => {
    const ask = createClient(url, await logIn(url, admin))
    const writeFrom = async (headers: Record<string, string>) => {
      const answer = await ask('PATCH', '/configurations/none', { body: {}, headers })
      return answer.status === 404 ? 'let pass' : answer.json<{ type: string }>().type
    }
    const crossSite = 'urn:connbook:problem:cross_site'
    const rows: [headers: Record<string, string>, expected: string][] = [
      [{}, 'let pass'],
      [{ Origin: origin }, 'let pass'],
      [{ Origin: 'https://connbook.example.net', Host: 'connbook.example.net' }, 'let pass'],
      [{ Origin: 'https://connbook.example.net', Host: 'connbook.example.net:443' }, 'let pass'],
      [{ Origin: 'https://connbook.example.net:8443', Host: 'connbook.example.net:8443' }, 'let pass'],
      [{ 'Sec-Fetch-Site': 'same-origin' }, 'let pass'],
      [{ Origin: `https://127.0.0.1:${nginx.port + 1}` }, crossSite],
      [{ Origin: 'https://evil.example' }, crossSite],
      [{ Origin: 'https://evil.example', 'X-Forwarded-Host': 'evil.example' }, crossSite],
      [{ Origin: 'null' }, crossSite],
      [{ 'Sec-Fetch-Site': 'cross-site' }, crossSite],
    ]
    for (const [headers, expected] of rows)
      assert.equal(await writeFrom(headers), expected, JSON.stringify(headers))
  })

  it('tells OAuth clients the URL that they use, not one that they invent', () => checkIssuer(site))

  it("has one id for a request in its answer, its audit line and nginx's log", async () => {
    const ask = createClient(url, await getToken(url, client))
    const add = (name: string, id?: string) =>
      ask('POST', '/configurations/', {
        body: draft(name),
        headers: id === undefined ? {} : { 'X-Request-Id': id },
      })
    const own = await add('named', 'caller-7')
    assert.equal(own.headers['x-request-id'], 'caller-7')
    const unnamed = await add('unnamed')
    const unsound = await add('oddly named', 'two words')
    const ids = [own, unnamed, unsound].map(({ headers }) => String(headers['x-request-id']))
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(!ids.includes('two words'))
    await eventually('every add is in the audit trail', async () =>
      (await auditedAdds(site)).includes(ids.at(-1)),
    )
    assert.deepEqual((await auditedAdds(site)).slice(-ids.length), ids)
    const loggedIds = async () => {
      const logged = (await nginx.log()).map(({ upstreamRequestId }) => upstreamRequestId)
      return logged.filter((id) => ids.includes(id))
    }
    await eventually('nginx has written its log', async () => (await loggedIds()).length >= ids.length)
    assert.deepEqual(await loggedIds(), ids)
  })

  it("counts failed logins by the client's real address, not by one it invents", async () => {
    const attemptFrom = (localAddress: string, password: string, headers: Record<string, string> = {}) =>
      createClient(url, headers, { localAddress })('POST', '/login', { body: { ...admin, password } })
    const forged = (last: number) => ({
      'X-Forwarded-For': `192.0.2.${last}`,
      'X-Forwarded-Proto': 'http',
      'X-Real-IP': `192.0.2.${last}`,
      Forwarded: `for=192.0.2.${last}`,
    })
    for (let i = 0; i < FREE_FAILURES; i += 1)
      assert.equal((await attemptFrom('127.0.0.2', 'wrong', forged(i))).status, 401)
    for (const headers of [{}, forged(99), { 'X-Forwarded-For': '127.0.0.3' }]) {
      const refusal = await attemptFrom('127.0.0.2', admin.password, headers)
      assert.equal(refusal.status, 429, JSON.stringify(headers))
      assert.match(String(refusal.headers['retry-after']), /^(29|30)$/)
    }
    for (const address of ['127.0.0.3', '127.0.0.4']) {
      const login = await attemptFrom(address, admin.password, forged(7))
      assert.equal(login.status, 200, address)
      assert.match(String(login.headers['set-cookie']), /; Secure$/)
    }
    const events = (await readAudit(site.folder))
      .slice(-FREE_FAILURES - 5)
      .map(({ event, address }) => `${event} ${address}`)
    assert.deepEqual(events, [
      ...Array.from({ length: FREE_FAILURES }, () => 'login_failed 127.0.0.2'),
      ...Array.from({ length: 3 }, () => 'login_throttled 127.0.0.2'),
      'logged_in 127.0.0.3',
      'logged_in 127.0.0.4',
    ])
  })
})

describe('connbook behind nginx, set up in another way', { skip: noNginx }, () => {
  it("knows the client's host over HTTP/2", async (t) => {
    await checkHttp2(t, await startPublishedSite(t, { changes: [[' ssl;', ' ssl http2;']] }))
  })

  it('uses the request ids of nginx, if nginx sends them', async (t) => {
    const forwarded = 'proxy_set_header X-Forwarded-Proto $scheme;'
    const named = `${forwarded} proxy_set_header X-Request-Id $request_id;`
    const site = await startPublishedSite(t, { changes: [[forwarded, named]] })
    const headers = { ...(await getToken(site.url, client)), 'X-Request-Id': 'caller-7' }
    const added = await createClient(site.url, headers)('POST', '/configurations/', { body: draft('a') })
    const id = String(added.headers['x-request-id'])
    assert.match(id, /^[0-9a-f]{32}$/)
    await eventually('the add is in the audit trail', async () => (await auditedAdds(site)).length > 0)
    assert.deepEqual(await auditedAdds(site), [id])
    await eventually('nginx has written its log', async () => (await site.nginx.log()).length === 2)
    assert.equal((await site.nginx.log())[1]?.requestId, id)
  })

  it('can use a Unix socket, and says who calls', async (t) => {
    const socket = join(await temporaryFolder(t), 'http')
    const site = await startPublishedSite(t, {
      changes: [['server 127.0.0.1:0;', `server unix:${socket};`]],
      without: '--trust-proxy 127.0.0.1/32',
      flags: ['--trust-proxy', 'unix'],
      socket,
    })
    const from = { localAddress: '127.0.0.2' }
    const login = await createClient(site.url, {}, from)('POST', '/login', { body: admin })
    assert.match(String(login.headers['set-cookie']), /; Secure$/)
    const { event, address } = (await readAudit(site.folder)).at(-1) ?? assert.fail()
    assert.deepEqual([event, address], ['logged_in', '127.0.0.2'])
  })

  it('can have a host name of its own', async (t) => {
    const { url, nginx } = await startPublishedSite(t, {
      changes: [['location /connbook/ {', 'location / {']],
      without: '--base-path /connbook',
    })
    const headers = await logIn(url, admin)
    assert.match(headers.Cookie, /^__Host-connbook_session_[0-9a-f]{8}=/)
    const ask = createClient(url, headers)
    const { location = '' } = (await ask('POST', '/configurations/', { body: draft('../a') })).headers
    assert.equal(location, '/configurations/..%2Fa')
    assert.deepEqual(namesIn(await ask('GET', location)), ['../a'])
    assert.deepEqual(await nginx.upstreamErrors(), [])
  })
})

describe('nginx', { skip: noNginx }, () => {
  it('restarts without harm to sessions or to connbook', async (t) => {
    const site = await startPublishedSite(t)
    const ask = createClient(site.url, await logIn(site.url, admin))
    let { nginx } = site
    for (const signal of ['SIGQUIT', 'SIGTERM'] as const) {
      assert.equal((await ask('POST', '/configurations/', { body: draft(signal) })).status, 200)
      assert.ok((await readTcpConnections(site.port)).open.size > 0)
      await nginx.stop(signal)
      await eventually('connbook has let go of the connections', async () => {
        return (await readTcpConnections(site.port)).open.size === 0
      })
      nginx = await site.startNginx()
    }
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['SIGQUIT', 'SIGTERM'])
    assert.deepEqual(await nginx.upstreamErrors(), [])
    assert.doesNotMatch(site.server.stderr(), /"level":"(warn|error)"/)
  })
})

interface AuditLine {
  readonly event: string
  readonly address?: string
  readonly request_id?: string
}

async function readAudit(folder: string): Promise<AuditLine[]> {
  const lines = (await readFile(join(folder, 'audit.jsonl'), 'utf8')).split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as AuditLine)
}

async function auditedAdds({ folder }: PublishedSite): Promise<(string | undefined)[]> {
  const lines = await readAudit(folder)
  return lines.filter(({ event }) => event === 'configuration_added').map(({ request_id }) => request_id)
}
