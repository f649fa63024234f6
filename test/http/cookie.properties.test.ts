import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { findCookie, formatCookie } from '../../src/http/cookie.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { joined, withoutBlanks } from '../support/properties/texts.ts'

const NAME = 'connbook_session'
const TRIED_MAX = 8

function triedIn(header: string): string[] {
  const tried: string[] = []
  const refuse = (value: string) => {
    tried.push(value)
    return undefined
  }
  findCookie(header, NAME, refuse)
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
