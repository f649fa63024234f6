import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  isPrivate,
  listPath,
  parseEndpoint,
  queryOf,
  recordPath,
  urlMeant,
} from '../../src/client/endpoint.ts'

describe('a text without a scheme', () => {
  const meant: Record<string, string | undefined> = {
    'localhost:8080': 'http://localhost:8080',
    '127.0.0.1:8080/console/': 'http://127.0.0.1:8080',
    '[::1]:80': 'http://[::1]',
    'book.example.net': 'https://book.example.net',
    '192.0.2.1:8443/x': 'https://192.0.2.1:8443/x',
    'ftp://a': undefined,
    'unix:': undefined,
    'a b': undefined,
    '': undefined,
  }
  for (const [text, url] of Object.entries(meant)) {
    it(`may mean ${url ?? 'nothing'}: ${JSON.stringify(text)}`, () => assert.equal(urlMeant(text), url))
  }
})

describe('parseEndpoint', () => {
  const places: Record<string, [name: string, host: string, at: object, basePath: string]> = {
    'http://localhost:8080': [
      'http://localhost:8080',
      'localhost:8080',
      { hostname: 'localhost', port: 8080 },
      '',
    ],
    'HTTPS://Book.Example.net/': [
      'https://book.example.net',
      'book.example.net',
      { hostname: 'book.example.net', port: 443 },
      '',
    ],
    'http://a:80/x/y/': ['http://a/x/y', 'a', { hostname: 'a', port: 80 }, '/x/y'],
    'http://[::1]:8080/b': ['http://[::1]:8080/b', '[::1]:8080', { hostname: '::1', port: 8080 }, '/b'],
    'http://a/console/': ['http://a', 'a', { hostname: 'a', port: 80 }, ''],
    'https://a/x/console/?q=b#c': ['https://a/x', 'a', { hostname: 'a', port: 443 }, '/x'],
    'http://a/console': ['http://a/console', 'a', { hostname: 'a', port: 80 }, '/console'],
    'unix:/run/connbook.sock': [
      'unix:/run/connbook.sock',
      'localhost',
      { socketPath: '/run/connbook.sock' },
      '',
    ],
  }
  for (const [text, [name, host, at, basePath]] of Object.entries(places)) {
    it(`reads ${text}`, () => {
      const endpoint = parseEndpoint(text) ?? assert.fail('it is an endpoint')
      assert.deepEqual(
        [endpoint.name, endpoint.host, endpoint.at, endpoint.basePath],
        [name, host, at, basePath],
      )
      assert.equal(endpoint.isSecure, name.startsWith('https:'))
      // A login is kept by the name, and found by it.
      assert.equal(parseEndpoint(name)?.name, name)
    })
  }

  const others = [
    '',
    'localhost',
    'localhost:8080',
    'book',
    'ftp://a',
    'http://',
    'http:///x',
    'unix:',
    'unix:a\0b',
  ]
  const unsafe = [
    'http://u@a',
    'http://u:p@a',
    'http://a?x',
    'http://a/#x',
    'http://a\\b',
    'http://a b',
    'http://a:99999',
  ]
  for (const text of [...others, ...unsafe]) {
    it(`takes ${JSON.stringify(text)} for none`, () => assert.equal(parseEndpoint(text), undefined))
  }
})

describe('isPrivate', () => {
  it('is true of TLS, of sockets and of this machine, and of nothing else', () => {
    const isSo = (text: string) => isPrivate(parseEndpoint(text) ?? assert.fail(text))
    for (const text of [
      'https://a',
      'unix:/s',
      'http://localhost',
      'http://x.localhost',
      'http://127.1.2.3',
      'http://[::1]',
    ])
      assert.equal(isSo(text), true, text)
    for (const text of [
      'http://a',
      'http://localhost.example',
      'http://notlocalhost',
      'http://10.0.0.1',
      'http://[fe80::1]',
    ])
      assert.equal(isSo(text), false, text)
  })
})

describe('the path of a record', () => {
  it('carries every name', () => {
    assert.equal(recordPath('web1'), '/configurations/web1')
    assert.equal(recordPath('a/b?c#d%2F é&..'), '/configurations/a%2Fb%3Fc%23d%252F%20%C3%A9%26..')
  })
})

describe('the query of a list', () => {
  it('has what is given, a list as often as it has entries', () => {
    const values = { q: 'a&b=c', sort: undefined, port: 22, label: ['x=y', 'z+ä'] }
    const query = '?q=a%26b%3Dc&port=22&label=x%3Dy&label=z%2B%C3%A4'
    assert.equal(queryOf(values), query)
    assert.equal(listPath(values), `/configurations/${query}`)
    assert.deepEqual(
      [...new URLSearchParams(query)],
      [
        ['q', 'a&b=c'],
        ['port', '22'],
        ['label', 'x=y'],
        ['label', 'z+ä'],
      ],
    )
  })

  it('is empty without values, and keeps empty texts', () => {
    assert.equal(queryOf({ q: undefined, label: [] }), '')
    assert.equal(listPath(), '/configurations/')
    assert.equal(queryOf({ q: '' }), '?q=')
  })
})
