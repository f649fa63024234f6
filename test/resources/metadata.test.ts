import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { UsageError } from '../../src/errors.ts'
import { createClient, type Headers } from '../support/http-client.ts'
import { parseAnswers, sendRaw } from '../support/raw-http.ts'
import { start } from '../support/service.ts'

const path = '/.well-known/oauth-authorization-server'

function expected(issuer: string) {
  return {
    issuer,
    token_endpoint: `${issuer}/v1/auth/token`,
    revocation_endpoint: `${issuer}/v1/auth/revoke`,
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    scopes_supported: ['read', 'write', 'admin'],
    response_types_supported: [],
  }
}

describe('the metadata of the authorization server', async () => {
  const plain = await start({ after })
  const ask = createClient(plain.url)

  it('is public, has the URLs of the endpoints, and is not cached', async () => {
    const got = await ask('GET', path)
    assert.deepEqual([got.status, got.json()], [200, expected(plain.url)])
    assert.equal(got.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(got.headers['cache-control'], 'no-store')
    const head = await ask('HEAD', path)
    assert.deepEqual([head.status, head.text], [200, ''])
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      assert.equal((await ask(method, path)).status, 403)
  })

  it('names the host as the request does', async () => {
    for (const Host of ['book.example.net', 'book:81', '[::1]:8080']) {
      const { issuer } = (await ask('GET', path, { headers: { Host } })).json<{ issuer: string }>()
      assert.equal(issuer, `http://${Host}`)
    }
  })

  it('believes nobody but a trusted proxy about scheme and host', async (t) => {
    const issuerAt = async (url: string, headers: Headers) =>
      (await createClient(url)('GET', path, { headers })).json<{ issuer: string }>().issuer
    const forged = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'evil', Host: 'book' }
    assert.equal(await issuerAt(plain.url, forged), 'http://book')
    const far = await start(t, { flags: ['--trust-proxy', '192.0.2.1'] })
    assert.equal(await issuerAt(far.url, forged), 'http://book')

    const { url } = await start(t, { flags: ['--trust-proxy', '127.0.0.1'] })
    const rows: [headers: Headers, issuer: string][] = [
      [
        { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'book.example:8443' },
        'https://book.example:8443',
      ],
      [{ 'X-Forwarded-Proto': 'https' }, 'https://inner'],
      [{ 'X-Forwarded-Host': '[2001:db8::1]' }, 'http://[2001:db8::1]'],
      [{ 'X-Forwarded-Host': 'forged, book' }, 'http://book'],
      [{ 'X-Forwarded-Host': '' }, 'http://inner'],
      [{ 'X-Forwarded-Host': 'book', Host: '' }, 'http://book'],
      [{}, 'http://inner'],
    ]
    for (const [headers, issuer] of rows)
      assert.equal(await issuerAt(url, { Host: 'inner', ...headers }), issuer, JSON.stringify(headers))
    for (const bad of ['a b', 'a/b', 'user@a', 'a?b', ':80', '[::1', 'a\\b', 'a, /']) {
      const headers = { Host: 'inner', 'X-Forwarded-Host': bad }
      const answer = await createClient(url)('GET', path, { headers })
      assert.equal(answer.status, 400, bad)
      assert.match(answer.text, /problem:malformed_host".*X-Forwarded-Host does not name a host/)
      assert.equal((await createClient(url)('GET', '/healthz', { headers })).status, 200, bad)
    }
  })

  it('is 400 without a host, whose header HTTP/1.0 may leave out and HTTP/1.1 leave empty', async (t) => {
    const statusOf = async (url: string, head: string) =>
      parseAnswers(await sendRaw(url, `GET ${path} ${head}\r\nConnection: close\r\n\r\n`))[0]?.status
    for (const head of ['HTTP/1.0', 'HTTP/1.0\r\nHost:', 'HTTP/1.1\r\nHost:', 'HTTP/1.1\r\nHost: :80'])
      assert.equal(await statusOf(plain.url, head), 400, head)
    const named = await start(t, { flags: ['--public-url=https://book'] })
    assert.equal(await statusOf(named.url, 'HTTP/1.1\r\nHost:'), 200)
  })

  it('is found below the base path and before it, and nothing else is', async (t) => {
    const { url } = await start(t, { flags: ['--base-path', '/a/b'] })
    const root = createClient(new URL(url).origin)
    for (const place of [`/a/b${path}`, `${path}/a/b`]) {
      assert.deepEqual((await root('GET', place)).json(), expected(url), place)
    }
    for (const place of [path, `${path}/`, `${path}/a`, `${path}/a/b/c`, `/a${path}/b`]) {
      assert.equal((await root('GET', place)).status, 403, place)
    }
  })

  it('names the public URL if there is one, whatever the request says', async (t) => {
    const flags = ['--base-path=/x', '--public-url=https://Book.example.net/x/']
    const { url } = await start(t, { flags })
    const answer = await createClient(url)('GET', path, { headers: { Host: 'evil' } })
    assert.deepEqual(answer.json(), expected('https://book.example.net/x'))
  })
})

describe('--public-url', () => {
  const parse = (...args: string[]) => parseCommandLine(args, {}, serverFlags)

  it('must have the path of --base-path', () => {
    assert.equal(parse('--public-url=https://a').options.publicUrl, 'https://a')
    assert.equal(parse('--public-url=https://a/x', '--base-path=/x').options.publicUrl, 'https://a/x')
    for (const args of [
      ['--public-url=https://a/x'],
      ['--public-url=https://a', '--base-path=/x'],
      ['--public-url=https://a/x/y', '--base-path=/x'],
    ]) {
      assert.throws(() => parse(...args), UsageError, args.join(' '))
    }
  })
})
