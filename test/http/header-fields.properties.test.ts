import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { findCookie, formatCookie, isCrossSite } from '../../src/http/header-fields.ts'
import { headersOf } from '../support/message.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anyEdit, applyEdit, headerText, joined, withoutBlanks } from '../support/properties/texts.ts'

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

  it('is same-site if the browser says so, or if it says nothing and host and port are those of Host', (t) => {
    const values = fc.tuple(fc.constantFrom<'http' | 'https'>('http', 'https'), host, host, site)
    holdFor(t, values, ([scheme, from, to, fetched]) => {
      const standard = scheme === 'http' ? 80 : 443
      const isSameHost =
        from.name.toLowerCase() === to.name.toLowerCase() && (from.port ?? standard) === (to.port ?? standard)
      const isSameSite = fetched === 'same-origin' || (isSameHost && (fetched ?? 'none') === 'none')
      const origin = `${scheme}://${written(from)}`
      const headers = headersOf({ origin, host: written(to), 'sec-fetch-site': fetched })
      assert.equal(isCrossSite(headers), !isSameSite)
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
      if (isCrossSite({ origin, host: 'a.example' })) return
      const authority = /^https?:\/\/(.*)$/.exec(origin)?.[1] ?? assert.fail('no scheme of a web site')
      for (const character of authority) assert.equal('/\\?#@ \t'.includes(character), false)
      assert.equal(new URL(origin).host, 'a.example')
    })
  })
})

const NAME = 'connbook_session'
const TRIED_MAX = 8

function triedIn(header: string): string[] {
  const tried: string[] = []
  const refuse = (value: string) => {
    tried.push(value)
    return undefined
  }
  findCookie(header, [NAME], refuse)
  return tried
}

/** The characters that RFC 6265 section 4.1.1 allows in a value. */
const cookieOctets = Array.from({ length: 0x7f - 0x21 }, (_, i) => String.fromCharCode(0x21 + i)).filter(
  (character) => !'",;\\'.includes(character),
)
const value = fc.string({ unit: fc.constantFrom(...cookieOctets), maxLength: 20 })
const otherName = fc
  .oneof(
    fc.string({ unit: fc.constantFrom(...'abcXYZ019_-.!#$%&*+^`|~'), minLength: 1, maxLength: 8 }),
    fc.constantFrom(
      `x${NAME}`,
      `${NAME}2`,
      `__Host-${NAME}`,
      NAME.toUpperCase(),
      NAME.slice(0, -1),
      '__proto__',
    ),
  )
  .filter((name) => name !== NAME)
const otherCookies = fc.array(
  fc
    .tuple(otherName, fc.oneof(value, fc.constant(`${NAME}=forged`)))
    .map(([name, text]) => `${name}=${text}`),
  { maxLength: 4 },
)
const gap = fc.constantFrom('; ', '; ', ';', ' ;  ', ';\t')

/** The values of the first cookies of this name, read one character at a time. */
function expectedCookies(header: string, name: string): string[] {
  const found: string[] = []
  let key = ''
  let text = ''
  let isInValue = false
  for (const character of `${header};`) {
    if (character === ';') {
      if (isInValue && withoutBlanks(key) === name) found.push(withoutBlanks(text))
      key = ''
      text = ''
      isInValue = false
    } else if (isInValue) text += character
    else if (character === '=') isInValue = true
    else key += character
  }
  return found.slice(0, TRIED_MAX)
}

const printable = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((unit) => String.fromCharCode(unit)),
  maxLength: 6,
})
const pieces = [
  NAME,
  NAME,
  `${NAME}=`,
  '=',
  '=',
  ';',
  ';',
  '; ',
  ' ',
  '\t',
  '\u00a0',
  '"',
  'a',
  'b=c',
  '__proto__',
  ',',
  `;${NAME}=x`,
]
const headers = joined(pieces, printable, 12)

describe('reading a cookie', () => {
  it('finds what was set, among other cookies', (t) => {
    const options = fc.record({
      path: fc.constantFrom('/', '/base'),
      isSecure: fc.boolean(),
      maxAgeSeconds: fc.nat(),
    })
    holdFor(
      t,
      fc.tuple(value, options, otherCookies, otherCookies, gap),
      ([text, set, before, behind, blank]) => {
        const [sentBack = ''] = formatCookie(NAME, text, set).split(';')
        const header = [...before, sentBack, ...behind].join(blank)
        assert.deepEqual(triedIn(header), [text])
      },
    )
  })

  it('finds both of two cookies of one name, in their order', (t) => {
    holdFor(t, fc.tuple(value, value, otherCookies, gap), ([first, second, others, blank]) => {
      const header = [`${NAME}=${first}`, ...others, `${NAME}=${second}`].join(blank)
      assert.deepEqual(triedIn(header), [first, second])
    })
  })

  it('finds nothing if no cookie has the name', (t) => {
    holdFor(t, fc.tuple(otherCookies, gap), ([others, blank]) => {
      assert.deepEqual(triedIn(others.join(blank)), [])
    })
  })

  it('agrees with a parser that reads character by character, for any header', (t) => {
    holdFor(t, headers, (header) => assert.deepEqual(triedIn(header), expectedCookies(header, NAME)))
  })
})

describe('setting a cookie', () => {
  it('never carries more than one attribute of a kind, whatever the value', (t) => {
    holdFor(t, fc.tuple(value, fc.boolean(), fc.nat()), ([text, isSecure, maxAgeSeconds]) => {
      const [pair, ...attributes] = formatCookie(NAME, text, { path: '/', isSecure, maxAgeSeconds }).split(
        '; ',
      )
      assert.equal(pair, `${NAME}=${text}`)
      const expected = ['HttpOnly', 'SameSite=Strict', 'Path=/', `Max-Age=${maxAgeSeconds}`]
      assert.deepEqual(attributes, isSecure ? [...expected, 'Secure'] : expected)
    })
  })
})
