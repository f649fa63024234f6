import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { ownerSocketPath } from '../../src/files/data-folder.ts'
import type { Request } from '../../src/http/message.ts'
import { consoleHandlers } from '../../src/resources/console.ts'
import { readConsole } from '../../src/resources/console-files.ts'
import { createClient } from '../support/http-client.ts'
import { sendRaw } from '../support/raw-http.ts'
import { start } from '../support/service.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
const BROWSER = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

const files = await readConsole()
const [page, script, style] = files
if (page === undefined || script === undefined || style === undefined) throw new Error('it has three files')
const paths = files.map(({ name }) => `/console/${name}`)

describe('the console', async () => {
  const service = await start({ after })
  const ask = createClient(service.url)
  const Authorization = await service.bearer()

  it('is a page with one script and one style, which everybody may read', async () => {
    for (const { name, bytes, etag, type } of files) {
      const { status, headers, text } = await ask('GET', `/console/${name}`)
      assert.equal(status, 200)
      assert.equal(text, Buffer.from(bytes).toString())
      assert.deepEqual(
        [headers['content-type'], headers['content-length'], headers.etag, headers['content-encoding']],
        [type, String(bytes.length), etag, undefined],
      )
    }
    const { text } = await ask('GET', '/console/')
    assert.deepEqual(
      Array.from(text.matchAll(/(?:src|href)="(?!data:)([^"]*)"/g), ([, reference]) => reference).sort(),
      [script.name, style.name].sort(),
    )
  })

  it('has the types of its files', () => {
    assert.deepEqual(
      files.map(({ type }) => type),
      ['text/html; charset=utf-8', 'text/javascript; charset=utf-8', 'text/css; charset=utf-8'],
    )
  })

  it('lets the page be asked for each time, and script and style be kept for a year', async () => {
    const kept = await Promise.all(
      paths.map(async (path) => (await ask('GET', path)).headers['cache-control']),
    )
    const year = 'public, max-age=31536000, immutable'
    assert.deepEqual(kept, ['no-cache', year, year])
  })

  it('may run its own script, and call its own server, alone', async () => {
    for (const path of paths) {
      const { headers } = await ask('GET', path)
      assert.equal(headers['content-security-policy'], POLICY)
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['referrer-policy'], 'no-referrer')
    }
    const elsewhere = await ask('GET', '/healthz')
    assert.equal(elsewhere.headers['content-security-policy'], "default-src 'none'; frame-ancestors 'none'")
  })

  it('answers HEAD as GET, and no other method', async () => {
    for (const path of ['/console/', '/console', ...paths.slice(1)]) {
      const got = await ask('GET', path)
      const head = await ask('HEAD', path)
      const { date: _, 'x-request-id': __, ...headers } = head.headers
      assert.deepEqual([head.status, head.text], [got.status, ''])
      for (const [name, value] of Object.entries(headers)) assert.equal(value, got.headers[name], name)
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
        assert.equal((await ask(method, path)).status, 403, method)
      const options = await ask('OPTIONS', path, { headers: { Authorization } })
      assert.deepEqual([options.status, options.headers.allow], [204, 'GET, HEAD, OPTIONS'])
      assert.equal((await ask('POST', path, { headers: { Authorization } })).status, 405)
    }
  })

  it('is sent as gzip to those who take that, with another tag', async () => {
    const taken = ['gzip', 'GZIP', 'gzip, deflate, br, zstd', 'br;q=1, gzip;q=0.001', '*', 'br, *;q=0.1']
    for (const { name, gzip, gzipEtag, bytes, etag } of files) {
      for (const accepted of taken) {
        const { headers } = await ask('GET', `/console/${name}`, { headers: { 'Accept-Encoding': accepted } })
        assert.deepEqual(
          [headers['content-encoding'], headers['content-length'], headers.etag, headers.vary],
          ['gzip', String(gzip.length), gzipEtag, 'Accept-Encoding'],
          accepted,
        )
      }
      assert.notEqual(etag, gzipEtag)
      const read = await fetch(`${service.url}/console/${name}`, { headers: { 'Accept-Encoding': 'gzip' } })
      assert.deepEqual(new Uint8Array(await read.arrayBuffer()), new Uint8Array(bytes))
    }
  })

  it('is sent plain to all others', async () => {
    const others = [
      '',
      'identity',
      'br',
      'gzip;q=0',
      'gzip;q=0.000, *',
      '*;q=0',
      'gzip;q=2',
      'gzipped',
      ',;,=',
    ]
    for (const accepted of others) {
      const { status, headers } = await ask('GET', '/console/', { headers: { 'Accept-Encoding': accepted } })
      assert.deepEqual(
        [status, headers['content-encoding'], headers.etag, headers.vary],
        [200, undefined, page.etag, 'Accept-Encoding'],
        accepted,
      )
    }
  })

  it('is not sent again to those who have it: 304 with the same headers', async () => {
    const whole = (await ask('GET', '/console/')).headers
    const conditions = [
      page.etag,
      `W/${page.etag}`,
      '*',
      `"x", ${page.etag}`,
      `${page.gzipEtag}, ${page.etag}`,
    ]
    for (const condition of conditions) {
      const { status, headers, text } = await ask('GET', '/console/', {
        headers: { 'If-None-Match': condition },
      })
      assert.deepEqual([status, text], [304, ''], condition)
      for (const name of [
        'cache-control',
        'content-security-policy',
        'cross-origin-opener-policy',
        'etag',
        'vary',
      ])
        assert.equal(headers[name], whole[name], name)
    }
    for (const condition of [page.gzipEtag, '"x"', '', page.etag.slice(1)]) {
      const answer = await ask('GET', '/console/', { headers: { 'If-None-Match': condition } })
      assert.equal(answer.status, 200, condition)
    }
    const asGzip = { 'Accept-Encoding': 'gzip', 'If-None-Match': page.gzipEtag }
    assert.equal((await ask('GET', '/console/', { headers: asGzip })).status, 304)
    const other = { 'Accept-Encoding': 'gzip', 'If-None-Match': page.etag }
    assert.equal((await ask('GET', '/console/', { headers: other })).status, 200)
  })

  it('is refused with 412 to those who expect another version', async () => {
    const answer = await ask('GET', '/console/', { headers: { 'If-Match': '"x"' } })
    assert.equal(answer.status, 412)
    assert.equal((await ask('GET', '/console/', { headers: { 'If-Match': page.etag } })).status, 200)
  })

  it('is sent whole to those who ask for a part', async () => {
    const answer = await ask('GET', '/console/', { headers: { Range: 'bytes=0-3' } })
    assert.deepEqual([answer.status, answer.headers['content-length']], [200, String(page.bytes.length)])
  })

  it('has no other files, for anybody', async () => {
    const others = [
      'main.ts',
      'index.html',
      'main.js',
      '%2e%2e',
      '..%2f..%2fpackage.json',
      '%00',
      '__proto__',
    ]
    const encoded = script.name.replace('.', '%2e')
    for (const name of [...others, encoded, `${script.name}.gz`, script.name.toUpperCase()])
      for (const headers of [{}, { Authorization }]) {
        const answer = await ask('GET', `/console/${name}`, { headers })
        assert.equal(answer.status, 404, name)
        assert.equal(answer.json<{ type: string }>().type, 'urn:connbook:problem:unknown_path')
        assert.equal(answer.headers['cache-control'], 'no-store')
      }
  })

  it('sends its path without the slash to the one with it, and keeps the query', async () => {
    for (const [path, location] of [
      ['/console', '/console/'],
      ['/console?', '/console/'],
      ['/console?q=a%20b&page=2', '/console/?q=a%20b&page=2'],
    ] as const) {
      const answer = await ask('GET', path)
      assert.deepEqual([answer.status, answer.headers.location, answer.text], [308, location, ''])
    }
    assert.equal((await ask('GET', '/console/?q=a')).status, 200)
  })

  it('is answered in HTTP/1.0, too', async () => {
    const whole = await sendRaw(service.url, 'GET /console/ HTTP/1.0\r\n\r\n')
    assert.match(whole, /^HTTP\/1\.1 200 /)
    assert.ok(whole.endsWith(`\r\n\r\n${Buffer.from(page.bytes).toString('latin1')}`))
    assert.match(whole, new RegExp(`\r\nContent-Length: ${page.bytes.length}\r\n`))
    const redirect = await sendRaw(service.url, 'GET / HTTP/1.0\r\nAccept: text/html\r\n\r\n')
    assert.match(redirect, /^HTTP\/1\.1 303 [\s\S]*\r\nContent-Length: 0\r\n/)
  })

  describe('from the root', () => {
    it('browsers are led to the console, logged in or not', async () => {
      const rows = [BROWSER.Accept, 'text/html', 'TEXT/HTML', 'text/html;level=1;q=0.1', 'a/b, text/html']
      for (const Accept of rows) {
        for (const method of ['GET', 'HEAD']) {
          for (const headers of [{ Accept }, { Accept, Authorization }]) {
            const answer = await ask(method, '/', { headers })
            const { location, vary } = answer.headers
            assert.deepEqual([answer.status, location, vary], [303, '/console/', 'Accept'], Accept)
            assert.deepEqual([answer.text, answer.headers['content-length']], ['', '0'])
          }
        }
      }
    })

    it('other clients are not led to the console', async () => {
      const rows = ['*/*', '', 'text/*', 'application/json', 'text/html;q=0', 'text/html;q=x', 'text/htmlx']
      for (const Accept of rows) {
        assert.equal((await ask('GET', '/', { headers: { Accept } })).status, 403, Accept)
        assert.equal((await ask('GET', '/', { headers: { Accept, Authorization } })).status, 404, Accept)
      }
      assert.equal((await ask('GET', '/')).status, 403)
    })

    it('other methods and paths are not led to the console', async () => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        assert.equal((await ask(method, '/', { headers: BROWSER })).status, 403, method)
        assert.equal((await ask(method, '/', { headers: { ...BROWSER, Authorization } })).status, 404, method)
      }
      for (const path of ['/nothing', '/index.html', '/%2f', '/configurations/'])
        assert.equal((await ask('GET', path, { headers: BROWSER })).status, 403, path)
    })
  })
})

describe('the console of a server with a base path', async () => {
  const service = await start({ after }, { flags: ['--base-path', '/like/this'] })
  const ask = createClient(service.url)

  it('is served below the base path', async () => {
    assert.equal((await ask('GET', '/console/')).status, 200)
    assert.equal((await ask('GET', `/console/${script.name}`)).status, 200)
    const slash = await ask('GET', '/console?x')
    assert.deepEqual([slash.status, slash.headers.location], [308, '/like/this/console/?x'])
    const outside = createClient(new URL(service.url).origin)
    assert.equal((await outside('GET', '/console/')).status, 403)
  })

  it('leads browsers to it from the base path, with and without the slash, and not from the root', async () => {
    for (const path of ['', '/']) {
      const { status, headers } = await ask('GET', path, { headers: BROWSER })
      assert.deepEqual([status, headers.location], [303, '/like/this/console/'])
      assert.equal((await ask('GET', path)).status, 403)
    }
    const outside = createClient(new URL(service.url).origin)
    for (const path of ['/', '/like', '/like/'])
      assert.equal((await outside('GET', path, { headers: BROWSER })).status, 403)
  })
})

describe('a server with --no-console', async () => {
  const service = await start({ after }, { flags: ['--no-console'] })
  const Authorization = await service.bearer()

  it('has no console, and leads nobody there', async () => {
    for (const path of ['/console/', '/console', `/console/${script.name}`, '/'])
      for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
        // Not by a client that compares with the OpenAPI document of other servers.
        const statusOf = async (headers: Record<string, string>) =>
          (await fetch(service.url + path, { method, headers, redirect: 'manual' })).status
        assert.equal(await statusOf(BROWSER), 403, path)
        assert.equal(await statusOf({ ...BROWSER, Authorization }), 404, path)
      }
  })

  it('does not describe the console in /openapi.json', async () => {
    const { text } = await createClient(service.url, { Authorization })('GET', '/openapi.json')
    assert.ok(!text.includes('/console'))
  })
})

describe("the owner's socket", { skip: process.platform === 'win32' && 'it is not on Windows' }, () => {
  it('has no console', async (t) => {
    const { folder } = await start(t)
    const ask = createClient('http://localhost', {}, { socketPath: ownerSocketPath(folder.path) })
    for (const path of ['/console/', '/console', '/'])
      assert.equal((await ask('GET', path, { headers: BROWSER })).status, 404, path)
    assert.ok(!(await ask('GET', '/openapi.json')).text.includes('/console'))
  })
})

describe('the files of the console', () => {
  const request = { method: 'GET', path: '/console/', query: '', headers: {} } as unknown as Request

  it('are read at the first request, once', async () => {
    let reads = 0
    const { readPage, readFile } = consoleHandlers('', async () => {
      reads += 1
      return files
    })
    assert.equal(reads, 0)
    const ofScript = { ...request, path: `/console/${script.name}` }
    const replies = await Promise.all([readPage(request), readFile(ofScript), readPage(request)])
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200, 200],
    )
    assert.ok(!(readPage(request) instanceof Promise))
    assert.equal(reads, 1)
  })

  it('are read again after that has failed', async () => {
    const results = [Promise.reject(new Error('made by the test')), Promise.resolve(files)]
    const { readPage } = consoleHandlers('', () => results.shift() ?? Promise.resolve([]))
    await assert.rejects(async () => readPage(request), /made by the test/)
    assert.equal((await readPage(request)).status, 200)
  })
})
