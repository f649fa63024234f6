import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { NAME_CHARACTERS_MAX } from '../../src/limits.ts'
import { getToken, logIn, pathOf } from '../support/api.ts'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { admin, client } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { attachStrace } from '../support/strace.ts'
import { sendDelicateNames } from './delicate-names.ts'
import { noHaproxy, startHaproxySite } from './haproxy.ts'
import { checkImports } from './long-import.ts'
import {
  checkCompressed,
  checkConditionsAndBodies,
  checkCrossSite,
  checkHttp2,
  checkIssuer,
  checkLogin,
  checkOwnHostName,
  checkThrottling,
  LEADING_OUT,
} from './site-checks.ts'

/** Longer than all buffers on its way; the longest of all is tried at full length. */
const LONG_BYTES = 2 ** 21
const LONG_ROWS = 20_000
const FALL = 5
const CHECK = 'check inter 2s fall 5 rise 1'
const QUICK_CHECK = 'check inter 50ms fall 5 rise 1'

describe('connbook behind HAProxy, set up as the manual says', { skip: noHaproxy }, async () => {
  const site = await startHaproxySite({ after })
  const { url, origin } = site

  it('logs in with a cookie limited to its path and HTTPS, and logs out', () => checkLogin(site))

  it('keeps delicate names unchanged, with a Location that leads to the record', async () => {
    const headers = await logIn(url, admin)
    // The longest request id and the longest record name give the longest head of an answer.
    const ask = createClient(url, { ...headers, 'X-Request-Id': 'r'.repeat(128) })
    await sendDelicateNames(ask, createClient(origin, headers))
  })

  it('keeps even names that would lead out of its path', async () => {
    const ask = createClient(url, await logIn(url, admin))
    for (const name of LEADING_OUT) {
      const { location } = (await ask('POST', '/configurations/', { body: draft(name) })).headers
      assert.equal(location, `/connbook${pathOf(name)}`)
      assert.deepEqual(namesIn(await ask('GET', pathOf(name))), [name])
      assert.equal((await ask('DELETE', pathOf(name))).status, 209)
    }
  })

  it('gets conditions and bodies, and returns statuses and bodies, unchanged', async () => {
    assert.equal(await checkConditionsAndBodies(site), 'Deleted')
  })

  it("refuses another site's writes, by the client's host and port", () => checkCrossSite(site))

  it('tells OAuth clients the URL that they use, not one that they invent', () => checkIssuer(site))

  it("knows the client's host over HTTP/2", async (t) => checkHttp2(t, site))

  it("counts failed logins by the client's real address, not by one it invents", () => checkThrottling(site))

  it("keeps a caller's request id, and tells nobody how long connbook keeps connections", async () => {
    const { headers } = await createClient(url)('GET', '/healthz', { headers: { 'X-Request-Id': 'own-7' } })
    assert.equal(headers['x-request-id'], 'own-7')
    assert.equal(headers['keep-alive'], undefined)
  })

  it('takes a long import, and refuses one that is too long', async () => {
    await checkImports(site, LONG_ROWS, LONG_BYTES)
  })
})

describe('connbook behind HAProxy, set up in another way', { skip: noHaproxy }, () => {
  it('can have a host name of its own', async (t) => {
    const site = await startHaproxySite(t, {
      changes: [
        ['    http-request return status 404 unless { path_beg /connbook/ }\n', ''],
        ['/connbook/healthz', '/healthz'],
        [CHECK, QUICK_CHECK],
      ],
      without: '--base-path /connbook',
      flags: ['--access-log'],
    })
    await checkOwnHostName(site)
    await eventually('HAProxy has asked for its health', () =>
      /"path":"\/healthz","status":200/.test(site.server.stderr()),
    )
  })

  it('answers conditional requests while HAProxy compresses the list', async (t) => {
    const directive = '    retries 5\n'
    const site = await startHaproxySite(t, {
      changes: [
        [directive, `${directive}    compression algo gzip\n    compression type application/json\n`],
      ],
    })
    await checkCompressed(site, '😀'.repeat(NAME_CHARACTERS_MAX))
  })

  it("has one id for a request in its answer and in HAProxy's log", async (t) => {
    const directive = '    default_backend connbook\n'
    const site = await startHaproxySite(t, {
      changes: [[directive, `    capture response header X-Request-Id len 128\n${directive}`]],
    })
    const { headers } = await createClient(site.url)('GET', '/readyz')
    const id = String(headers['x-request-id'])
    await eventually('HAProxy has written its log', () =>
      site.log().includes(`{${id}} "GET /connbook/readyz HTTP/1.1"`),
    )
  })

  it('uses the request ids of HAProxy, if HAProxy sends them', async (t) => {
    const directive = '    default_backend connbook\n'
    const named = `    http-request set-header X-Request-Id %[uuid()]\n${directive}`
    const { url } = await startHaproxySite(t, { changes: [[directive, named]] })
    const { headers } = await createClient(url, { 'X-Request-Id': 'caller-7' })('GET', '/readyz')
    assert.match(String(headers['x-request-id']), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  })

  it('is taken for down while it does not run, and for up soon after its start', async (t) => {
    const site = await startHaproxySite(t, {
      changes: [
        [CHECK, QUICK_CHECK],
        ['retries 5', 'retries 0'],
      ],
    })
    const ask = createClient(site.url)
    assert.equal((await ask('GET', '/readyz')).status, 200)
    await site.server.stop()
    await eventually('HAProxy takes it for down', () => /connbook\/connbook is DOWN/.test(site.log()))
    const refusal = await ask('GET', '/readyz')
    assert.equal(refusal.status, 503)
    assert.equal(refusal.headers['strict-transport-security'], 'max-age=31536000')
    await site.startServer()
    await eventually('HAProxy takes it for up', () =>
      /is UP, reason: Layer7 check passed, code: 200/.test(site.log()),
    )
    assert.equal((await ask('GET', '/readyz')).status, 200)
  })

  it('serves reads while its disk takes no changes', { skip: missing('strace') }, async (t) => {
    const directive = '    retries 5\n'
    const site = await startHaproxySite(t, {
      changes: [
        [CHECK, QUICK_CHECK],
        // By default a check may take no longer than the time between two, which is short here.
        [directive, `${directive}    timeout check 10s\n`],
      ],
      flags: ['--access-log'],
    })
    const ask = createClient(site.url, await getToken(site.url, client))
    assert.equal((await ask('POST', '/configurations/', { body: draft('a') })).status, 200)
    const injections = [{ calls: 'pwrite64,fdatasync,fsync', fault: 'error=EIO' }]
    await attachStrace(t, site.server.process.pid, { injections, folder: site.folder })
    assert.equal((await ask('POST', '/configurations/', { body: draft('b') })).status, 503)
    assert.equal((await ask('GET', '/readyz')).status, 503)
    const checks = () => site.server.stderr().split('"path":"/connbook/healthz"').length
    const due = checks() + 2 * FALL
    await eventually('HAProxy has asked for its health again', () => checks() >= due)
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['a'])
    assert.doesNotMatch(site.log(), /is DOWN/)
  })
})
