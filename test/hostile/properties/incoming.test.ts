import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { isCrossSite } from '../../../src/http/cross-site.ts'
import { Problem } from '../../../src/http/problem.ts'
import { BODY_BYTES_MAX } from '../../../src/limits.ts'
import { findFramingFault } from '../../../src/server/framing.ts'
import { IncomingRequest } from '../../../src/server/incoming-request.ts'
import { createTurns } from '../../../src/server/turns.ts'
import { holdFor, holdLaterFor } from './hold-property.ts'
import { caller, headersOf, requestOf } from './request-of.ts'
import { anyEdit, applyEdit, headerText, joined } from './texts.ts'

interface Head {
  readonly httpVersion?: string
  readonly url?: string
  readonly fields?: readonly (readonly [name: string, value: string])[]
}

/** As much of what Node makes of a request as is looked at. */
function incomingOf({ httpVersion = '1.1', url = '/', fields = [['Host', 'a']] }: Head): IncomingMessage {
  const headers: Record<string, string> = {}
  for (const [name, value] of fields) headers[name.toLowerCase()] ??= value
  const rawHeaders = fields.flat()
  const parts = {
    httpVersion,
    url,
    headers,
    rawHeaders,
    method: 'GET',
    complete: false,
  }
  return Object.assign(new EventEmitter(), parts) as unknown as IncomingMessage
}

const noResponse = {} as ServerResponse
const codeOf = (head: Head) => findFramingFault(incomingOf(head))?.code

const DIGITS = '0123456789'
const HEX_DIGITS = `${DIGITS}abcdefABCDEF`
/** The characters of RFC 3986 section 3.2.2 of which names are made, besides escapes. */
const NAME_CHARACTERS = `${DIGITS}abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~!$&'()*+,;=`

/** Whether it is a name, perhaps empty, or what may be an address in brackets, and perhaps a colon with a port. */
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
  it('has a target that begins with one slash and has no fragment', (t) => {
    const targets = joined(
      ['/', '/', '//', '#', '?', 'http:', '*', 'a', ':80', '%23', '\\', '@', ' '],
      headerText,
    )
    holdFor(t, targets, (url) => {
      const isPath = url[0] === '/' && url[1] !== '/' && !url.split('').includes('#')
      assert.equal(codeOf({ url }), isPath ? undefined : 'malformed_target')
    })
  })

  it('has a host that is an authority, without a user', (t) => {
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

  it('has no field twice that would mean two things', (t) => {
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

  it('is of HTTP/1.0 or 1.1, with no coding but chunked and no expectation but one', (t) => {
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

describe('a request', () => {
  it('has its target cut at the first question mark', (t) => {
    holdFor(t, joined(['/', 'a', '?', '??', '%3f', '&', '='], headerText), (url) => {
      const { path, query } = new IncomingRequest(
        incomingOf({ url }),
        noResponse,
        caller,
        caller.requestId,
        createTurns(),
      )
      assert.equal(path.includes('?'), false)
      assert.equal(path + (url.includes('?') ? '?' : '') + query, url)
    })
  })

  const source = Buffer.alloc(2 * BODY_BYTES_MAX, 'a body that is told apart at any place. ')
  it('has a body of up to the limit, whole, in whatever pieces it came, and none beyond', async (t) => {
    const size = fc.oneof(
      { weight: 6, arbitrary: fc.nat({ max: 300 }) },
      { weight: 2, arbitrary: fc.integer({ min: BODY_BYTES_MAX - 2, max: BODY_BYTES_MAX + 2 }) },
      { weight: 1, arbitrary: fc.nat({ max: BODY_BYTES_MAX }) },
    )
    const bodies = fc.record({
      size,
      cuts: fc.oneof(
        { weight: 9, arbitrary: fc.array(fc.nat(), { maxLength: 5 }) },
        { weight: 1, arbitrary: fc.array(fc.nat(), { minLength: 60, maxLength: 200 }) },
      ),
      isLengthGiven: fc.boolean(),
    })
    await holdLaterFor(t, bodies, async ({ size, cuts, isLengthGiven }) => {
      const length: [string, string] = ['Content-Length', String(size)]
      const chunked: [string, string] = ['Transfer-Encoding', 'chunked']
      const incoming = incomingOf({ fields: [['Host', 'a'], isLengthGiven ? length : chunked] })
      const reading = new IncomingRequest(
        incoming,
        noResponse,
        caller,
        caller.requestId,
        createTurns(),
      ).readBody()
      const borders = [0, ...cuts.map((cut) => cut % (size + 1)), size].sort((a, b) => a - b)
      borders.forEach((border, i) => {
        if (i > 0) incoming.emit('data', source.subarray(borders[i - 1], border))
      })
      incoming.emit('end')
      if (size <= BODY_BYTES_MAX) assert.ok((await reading).equals(source.subarray(0, size)))
      else await assert.rejects(reading, (error) => error instanceof Problem && error.status === 413)
    })
  })
})

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

  it('is of the same site exactly when host and port are those of Host', (t) => {
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

  it('is of another site when the Origin is anything but the scheme and the host of a web site, or of another one', (t) => {
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
