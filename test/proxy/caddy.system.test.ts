import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { NAME_CHARACTERS_MAX } from '../../src/limits.ts'
import { logIn, pathOf } from '../support/api.ts'
import { createClient } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { noCaddy, startCaddySite } from './caddy.ts'
import { sendDelicateNames } from './delicate-names.ts'
import {
  checkCompressed,
  checkConditionsAndBodies,
  checkCrossSite,
  checkIssuer,
  checkLogin,
  checkOwnHostName,
  checkThrottling,
  LEADING_OUT,
} from './site-checks.ts'

describe('connbook behind Caddy, set up as the manual says', { skip: noCaddy }, async () => {
  const site = await startCaddySite({ after })
  const { url, origin } = site

  it('logs in with a cookie limited to its path and HTTPS, and logs out', () => checkLogin(site))

  it('keeps delicate names unchanged, with a Location that leads to the record', async () => {
    const headers = await logIn(url, admin)
    const ask = createClient(url, headers)
    await sendDelicateNames(ask, createClient(origin, headers))
  })

  it('receives no request for a name that leads out of its path', async () => {
    const ask = createClient(url, await logIn(url, admin))
    for (const name of LEADING_OUT) {
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
    // Caddy has reason phrases of its own.
    assert.notEqual(await checkConditionsAndBodies(site), 'Deleted')
  })

  it("refuses another site's writes, by the client's host and port", () => checkCrossSite(site))

  it('tells OAuth clients the URL that they use, not one that they invent', () => checkIssuer(site))

  it("counts failed logins by the client's real address, not by one it invents", () => checkThrottling(site))
})

describe('connbook behind Caddy, set up in another way', { skip: noCaddy }, () => {
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
    const site = await startCaddySite(t, {
      changes: [
        ['handle /connbook/* {', 'handle {'],
        ['\thandle {\n\t\trespond 404\n\t}\n', ''],
      ],
      without: '--base-path /connbook',
    })
    await checkOwnHostName(site)
  })

  it('answers conditional requests while Caddy compresses the list', async (t) => {
    const directive = 'handle /connbook/* {'
    const site = await startCaddySite(t, { changes: [[directive, `encode gzip\n${directive}`]] })
    // Caddy compresses nothing short.
    await checkCompressed(site, '😀'.repeat(NAME_CHARACTERS_MAX))
  })
})
