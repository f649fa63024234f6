import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { findFramingFault } from '../../src/server/framing.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anyEdit, applyEdit, headerText, joined } from '../support/properties/texts.ts'
import { type Head, incomingOf } from './incoming-of.ts'

const codeOf = (head: Head) => findFramingFault(incomingOf(head))?.code

const DIGITS = '0123456789'
const HEX_DIGITS = `${DIGITS}abcdefABCDEF`
/** The characters of a host name besides escapes, by RFC 3986 section 3.2.2. */
const NAME_CHARACTERS = `${DIGITS}abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~!$&'()*+,;=`

/** Whether it is a name, which may be empty, or a possible address in brackets, with an optional port. */
function isAuthority(text: string): boolean {
  const isOf = (characters: string, some: string) => some.split('').every((each) => characters.includes(each))
  const bracket = text.startsWith('[') ? text.indexOf(']') : -1
  const colon = text.indexOf(':', bracket + 1)
  const host = colon === -1 ? text : text.slice(0, colon)
  if (colon !== -1 && !isOf(DIGITS, text.slice(colon + 1))) return false
  if (bracket !== -1)
    return host.length >= 4 && bracket === host.length - 1 && isOf(`${HEX_DIGITS}:.`, host.slice(1, -1))
  const [name = '', ...escapes] = host.split('%')
  return (
    isOf(NAME_CHARACTERS, name) &&
    escapes.every(
      (each) =>
        each.length >= 2 && isOf(HEX_DIGITS, each.slice(0, 2)) && isOf(NAME_CHARACTERS, each.slice(2)),
    )
  )
}

describe('the framing of a request', () => {
  it('is valid only if the target begins with one slash and has no fragment, or is a URL of the host', (t) => {
    const targets = joined(
      ['/', '/', '//', '#', '?', 'http:', '*', 'a', ':80', '%23', '\\', '@', ' '],
      headerText,
    )
    holdFor(t, targets, (url) => {
      const isPath = url[0] === '/' && url[1] !== '/' && !url.split('').includes('#')
      assert.equal(
        codeOf({ url, fields: [['Host', 'other.example']] }),
        isPath ? undefined : 'malformed_target',
      )
    })
  })

  it('is valid only if the host is an authority without a user', (t) => {
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((address) => `[${address}]`),
      fc.constantFrom(
        '',
        'a_b',
        'a.',
        '%41',
        'a%zz',
        '[::1%25eth0]',
        '[]',
        '[:]',
        '[a]',
        '[::1',
        '::1',
        '[v1.a]',
      ),
    )
    const whole = fc
      .tuple(host, fc.constantFrom('', '', ':', ':80', ':08080', ':8a', ':80:80', ' :80'))
      .map((parts) => parts.join(''))
    const pieces = joined(
      [
        'a',
        '.example',
        ':80',
        ':',
        '[',
        ']',
        '::1',
        '1.2.3.4',
        '@',
        '/',
        ' ',
        ',',
        '%41',
        '%',
        '#',
        '?',
        '_',
        '"',
      ],
      headerText,
      5,
    )
    const edited = fc
      .tuple(whole, anyEdit(fc.constantFrom('@', ':', '%', '[', ']', ' ', '/', 'g')))
      .map(([text, edit]) => applyEdit(text, edit))
    holdFor(t, fc.oneof(whole, edited, pieces), (host) => {
      const expected = isAuthority(host) ? undefined : 'malformed_host'
      assert.equal(codeOf({ fields: [['Host', host]] }), expected)
    })
  })

  it('is valid only if no single-valued field is repeated', (t) => {
    const singletons = [
      'Host',
      'Authorization',
      'Content-Type',
      'Content-Length',
      'Content-Encoding',
      'Origin',
      'Sec-Fetch-Site',
      'Transfer-Encoding',
    ]
    const others = ['Cookie', 'Accept', 'X-Forwarded-For', '__proto__', 'constructor', 'If-Match']
    const name = fc
      .oneof(fc.constantFrom(...singletons), fc.constantFrom(...others))
      .chain((known) => fc.constantFrom(known, known.toUpperCase(), known.toLowerCase()))
    const fields = fc.array(fc.tuple(name, fc.constantFrom('chunked', 'Chunked')), { maxLength: 7 })
    holdFor(t, fields, (some) => {
      const small = some.map(([known]) => known.toLowerCase())
      const doubled = singletons.some(
        (singleton) => small.filter((known) => known === singleton.toLowerCase()).length > 1,
      )
      const code = codeOf({ fields: some })
      if (doubled) assert.equal(code, 'doubled_header')
      else assert.equal(code, small.includes('host') ? undefined : 'missing_host')
    })
  })

  it('is valid only for HTTP/1.0 and 1.1, with coding chunked and expectation 100-continue', (t) => {
    const coding = fc.oneof(
      fc.constantFrom('chunked', 'CHUNKED'),
      joined(['chunked', 'gzip', ',', ' ', 'identity', ';', '\t'], headerText, 3),
    )
    const expectation = fc.oneof(
      fc.constantFrom('100-continue', '100-Continue'),
      joined(['100-continue', ',', '200-ok', ' '], headerText, 2),
    )
    const heads = fc.record({
      httpVersion: fc.constantFrom('1.1', '1.1', '1.0', '0.9', '2.0', '1.2', '11', ''),
      hasHost: fc.boolean(),
      coding: fc.option(coding, { nil: undefined }),
      expectation: fc.option(expectation, { nil: undefined }),
    })
    holdFor(t, heads, ({ httpVersion, hasHost, coding, expectation }) => {
      const fields: [string, string][] = []
      if (hasHost) fields.push(['Host', 'a'])
      if (coding !== undefined) fields.push(['Transfer-Encoding', coding])
      if (expectation !== undefined) fields.push(['Expect', expectation])
      const isNew = httpVersion === '1.1'
      let expected: string | undefined
      if (!isNew && httpVersion !== '1.0') expected = 'unsupported_version'
      else if (isNew && !hasHost) expected = 'missing_host'
      else if (coding !== undefined && !(isNew && /^chunked$/i.test(coding)))
        expected = 'unsupported_transfer_coding'
      else if (expectation !== undefined && !/^100-continue$/i.test(expectation))
        expected = 'unknown_expectation'
      assert.equal(codeOf({ httpVersion, fields }), expected)
    })
  })
})
