import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { accessibilityFindings, assertAccessible } from './support/accessible.ts'
import { assertNoFindings, closePagesFirst, openConsole } from './support/browser.ts'
import { getChromium, noChromium } from './support/chromium.ts'
import { type Expected, type Finding, watchContext } from './support/page-watch.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

interface Site {
  readonly url: string
}

/** Serves a page under the policy of the console, `/status/404` and the like, and `/broken`, which gets no answer. */
async function startSite(t: TestContext, { body = '', script = '' }): Promise<Site> {
  closePagesFirst(t)
  const page = `<!doctype html><html lang="en"><head><title>page</title><link rel="icon" href="data:,"></head>
    <body><main><h1>page</h1>${body}</main><script src="script.js"></script></body></html>`
  const server = createServer(({ url = '', socket }, response) => {
    if (url === '/broken') return void socket.destroy()
    const headers = { 'Content-Type': 'text/html', 'Content-Security-Policy': POLICY }
    const status = Number(/^\/status\/(\d+)$/.exec(url)?.[1] ?? 200)
    const isScript = url === '/console/script.js'
    const content = url === '/console/' ? page : isScript ? script : ''
    response.writeHead(status, isScript ? { 'Content-Type': 'text/javascript' } : headers).end(content)
  }).listen(0, '127.0.0.1')
  t.after(async () => {
    server.close().closeAllConnections()
    await once(server, 'close')
  })
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Runs statements one after another in a page, and gives what the watch finds in it. */
async function findingsOf(
  t: TestContext,
  statements: readonly string[],
  expected: Expected = {},
): Promise<readonly Finding[]> {
  const all = [
    ...statements,
    'await new Promise((resolve) => setTimeout(resolve))',
    "document.querySelector('h1').append('done')",
  ]
  const site = await startSite(t, { script: `(async () => { ${all.join(';\n')} })()` })
  // Not by `openConsole`, which would let the test fail.
  await using context = await (await getChromium()).newContext()
  const findings = watchContext(context, site.url, expected)
  const page = await context.newPage()
  await page.goto(`${site.url}/console/`)
  await page.getByText('done').waitFor()
  return await findings()
}

/** What pages must not do, and how it is found. */
const faults = [
  ["new Image().src = 'http://other.example/'", 'other host', 'GET http://other.example/'],
  ["open('http://127.0.0.1:9/')", 'other host', 'GET http://127.0.0.1:9/'],
  ["console.error('broken')", 'console error', 'broken at http:'],
  ["setTimeout(() => { throw new Error('thrown') })", 'page error', 'Error: thrown'],
  ["Promise.reject(new Error('lost'))", 'page error', 'Error: lost'],
  ["try { document.body.innerHTML = '<b>' } catch {}", 'CSP violation', 'TrustedHTML'],
  ["document.body.setAttribute('style', 'color: red')", 'CSP violation', 'style-src'],
  ["await fetch('http://third.example/').catch(() => {})", 'CSP violation', 'http://third.example/'],
  ["await fetch('/status/404')", 'console error', '/status/404'],
  ["await fetch('/broken').catch(() => {})", 'failed request', 'ERR_EMPTY_RESPONSE'],
] as const

describe('the watch on pages of the console', { skip: noChromium }, () => {
  it('finds every kind of fault of a page', async (t) => {
    const statements = faults.map(([statement]) => statement)
    const found = await findingsOf(t, statements)
    const missed = faults.filter(
      ([, kind, part]) => !found.some((finding) => finding.kind === kind && finding.detail.includes(part)),
    )
    assert.deepEqual(missed, [], JSON.stringify(found, null, 2))
    assert.throws(() => assertNoFindings(found), /page error: Error: thrown/)
  })

  it('finds no fault in what a page may do, nor in what the test has named', async (t) => {
    const statements = [
      "console.warn('a warning')",
      "await fetch('/status/200')",
      "const end = new AbortController(); const sent = fetch('/status/200', { signal: end.signal })",
      'end.abort(); await sent.catch(() => {})',
      "await fetch('/status/401')",
      "console.error('expected')",
      "await fetch('/broken').catch(() => {})",
    ]
    const expected = { statuses: [401], messages: [/^expected$/], hasLostConnections: true }
    const found = await findingsOf(t, statements, expected)
    assert.deepEqual(found, [])
    assertNoFindings(found)
  })
})

describe('axe in pages of the console', { skip: noChromium }, () => {
  it('finds a picture without a text in spite of the policy, and accepts one with a text', async (t) => {
    const bad = await startSite(t, { body: '<img src="data:,">' })
    const findings = await accessibilityFindings(await openConsole(t, { server: bad }))
    assert.deepEqual(
      findings.map((line) => line.split(':')[0]),
      ['image-alt at img'],
    )
    const good = await startSite(t, { body: '<img src="data:," alt="a picture">' })
    await assertAccessible(await openConsole(t, { server: good }))
  })
})
