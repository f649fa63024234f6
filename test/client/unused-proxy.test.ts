import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { callEndpoint, UnreachableError } from '../../src/client/call.ts'
import { parseEndpoint } from '../../src/client/endpoint.ts'
import { findUnusedProxy } from '../../src/client/unused-proxy.ts'
import { runCommand } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'

const PROXY = 'http://proxy.example.net:3128'

function proxyFor(url: string, environment: NodeJS.ProcessEnv): string | undefined {
  return findUnusedProxy(parseEndpoint(url) ?? assert.fail(url), environment)
}

describe('a variable that names a proxy', () => {
  it('is found for a server elsewhere, by its scheme', () => {
    const all = { HTTP_PROXY: PROXY, https_proxy: PROXY }
    assert.equal(proxyFor('https://book.example.net', all), 'https_proxy')
    assert.equal(proxyFor('http://192.0.2.7:8080', all), 'HTTP_PROXY')
    assert.equal(proxyFor('https://[2001:db8::7]', { ALL_PROXY: PROXY }), 'ALL_PROXY')
    assert.equal(proxyFor('https://book.example.net', { HTTP_PROXY: PROXY, HTTPS_PROXY: '' }), undefined)
    assert.equal(proxyFor('https://book.example.net', {}), undefined)
  })

  it('is not, for a server of this machine', () => {
    const all = { http_proxy: PROXY, https_proxy: PROXY, all_proxy: PROXY }
    for (const url of ['http://localhost:8080', 'https://127.0.0.1', 'http://[::1]:80', 'unix:/run/book'])
      assert.equal(proxyFor(url, all), undefined, url)
  })

  const excepted: Record<string, readonly [url: string, no: string]> = {
    'its name': ['https://book.example.net', 'book.example.net'],
    'its domain': ['https://book.example.net', 'other.test, example.net'],
    'its domain with a dot': ['https://book.example.net', '.example.net'],
    'its domain with a star': ['https://book.example.net', '*.EXAMPLE.net'],
    'every host': ['https://book.example.net', '*'],
    'its address': ['https://192.0.2.7', '192.0.2.7'],
    'its network': ['https://192.0.2.7', '198.51.100.0/24 192.0.2.0/24'],
    'its IPv6 network': ['https://[2001:db8::7]', '2001:db8::/32'],
  }
  for (const [what, [url, list]] of Object.entries(excepted)) {
    it(`is not, where NO_PROXY has ${what}`, () => {
      assert.equal(proxyFor(url, { https_proxy: PROXY, NO_PROXY: list }), undefined)
    })
  }

  for (const list of ['', ',', 'ample.net', 'book.example.net.evil.test', '192.0.2.0/99', '2001:db8::/32']) {
    it(`is found where NO_PROXY is "${list}"`, () => {
      for (const url of ['https://book.example.net', 'https://198.51.100.7'])
        assert.equal(proxyFor(url, { https_proxy: PROXY, no_proxy: list }), 'https_proxy')
    })
  }
})

describe('a server that is not reached', () => {
  it('is reported so by the commands', async () => {
    // This machine, by an address that is not of the loopback.
    const url = `http://0.0.0.0:${await freePort()}`
    const environment = { http_proxy: PROXY, CONNBOOK_TOKEN: 'x' }
    for (const words of [
      ['ls', '--server', url, '--plain'],
      ['login', url, '--user', 'a', '--plain'],
    ]) {
      const { code, stderr } = await runCommand(words, { environment, input: 'secret' })
      assert.equal(code, 6)
      assert.match(stderr, /\(ECONNREFUSED\); it was called directly: .+ http_proxy does not count\n$/)
      assert.doesNotMatch(stderr, /proxy\.example/)
    }
  })

  it('is reported with the variable, which does not count', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const endpoint = { ...(parseEndpoint(url) ?? assert.fail(url)), unusedProxy: 'HTTPS_PROXY' }
    await assert.rejects(callEndpoint(endpoint, { method: 'GET', path: '/' }), (error) => {
      assert.ok(error instanceof UnreachableError)
      assert.equal(
        error.message,
        `Cannot connect to ${url} (ECONNREFUSED); it was called directly: connbook goes by no proxy, so HTTPS_PROXY does not count`,
      )
      return true
    })
  })
})
