import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { isCrossSite } from '../../src/http/cross-site.ts'
import { headersOf, requestOf } from '../support/message.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anyEdit, applyEdit, headerText, joined } from '../support/properties/texts.ts'

describe('a request with an Origin', () => {
  const name = fc.constantFrom('a.example', 'b.example', 'A.example', '192.0.2.1', '[::1]', 'localhost')
  const port = fc.constantFrom<number | undefined>(undefined, undefined, 80, 443, 8080, 8081)
  const host = fc.record({ name, port })
  const written = ({ name, port }: { name: string; port: number | undefined }) =>
    port === undefined ? name : `${name}:${port}`
  const site = fc.constantFrom(
    undefined,
    undefined,
    'same-origin',
    'none',
    'same-site',
    'cross-site',
    '',
    'Same-Origin',
  )

  it('is same-site if and only if its host and port are those of Host', (t) => {
    const values = fc.tuple(fc.constantFrom<'http' | 'https'>('http', 'https'), host, host, site)
    holdFor(t, values, ([scheme, from, to, fetched]) => {
      const standard = scheme === 'http' ? 80 : 443
      const isSameHost =
        from.name.toLowerCase() === to.name.toLowerCase() && (from.port ?? standard) === (to.port ?? standard)
      const isSameSite = fetched === undefined || fetched === 'same-origin' || fetched === 'none'
      const origin = `${scheme}://${written(from)}`
      const request = requestOf(headersOf({ origin, host: written(to), 'sec-fetch-site': fetched }))
      assert.equal(isCrossSite(request), !(isSameHost && isSameSite))
    })
  })

  it('is cross-site if the Origin names another host, or is not a web origin', (t) => {
    const odd = joined(
      [
        'null',
        'http://',
        'http://a.example',
        'https://a.example',
        'https:',
        'ws://',
        'HTTP://',
        '\\',
        '\t',
        'a.example',
        '@',
        '/',
        '#',
        '?',
        'file:',
        'data:',
        ' ',
        '%61',
        '.',
        ':80',
        'evil',
      ],
      headerText,
      4,
    )
    const edits = anyEdit(fc.constantFrom('/', '\\', '@', 'x@', '#', '?', '\t', ' ', '.', 's', ':'))
    const edited = fc
      .tuple(fc.constantFrom('http://a.example', 'https://a.example:443'), edits)
      .map(([text, edit]) => applyEdit(text, edit))
    holdFor(t, fc.oneof(odd, edited), (origin) => {
      if (isCrossSite(requestOf({ origin, host: 'a.example' }))) return
      const authority = /^https?:\/\/(.*)$/.exec(origin)?.[1] ?? assert.fail('no scheme of a web site')
      for (const character of authority) assert.equal('/\\?#@ \t'.includes(character), false)
      assert.equal(new URL(origin).host, 'a.example')
    })
  })
})
