import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { isJsonType, parseMediaType, readJsonObject } from '../../src/http/message.ts'
import { Problem } from '../../src/http/problem.ts'
import { headersOf, requestOf } from '../support/message.ts'
import { holdFor, holdLaterFor } from '../support/properties/hold-property.ts'
import {
  anyEdit,
  anyText,
  applyEdit,
  joined,
  treacherousNames,
  withoutBlanks,
} from '../support/properties/texts.ts'

const tokenCharacters = 'abcXYZ019!#$&^_.-'
const word = fc.string({ unit: fc.constantFrom(...tokenCharacters), minLength: 1, maxLength: 8 })
const blank = fc.constantFrom('', '', ' ', '\t', '  ')
const capitals = fc.constantFrom(
  (text: string) => text,
  (text: string) => text.toUpperCase(),
  (text: string) => text.replace(/[a-z]/, (letter) => letter.toUpperCase()),
)
const otherParameter = fc
  .tuple(
    fc.oneof({ weight: 3, arbitrary: word }, fc.constantFrom('xcharset', 'charset2', 'profile')),
    word,
    fc.boolean(),
  )
  .filter(([name]) => name.toLowerCase() !== 'charset')
  .map(([name, value, isQuoted]) => (isQuoted ? `${name}="${value}"` : `${name}=${value}`))

describe('a media type', () => {
  it('is read with its charset, regardless of case, blanks and other parameters', (t) => {
    const essences = fc.oneof(
      fc.tuple(word, word).map((parts) => parts.join('/')),
      fc.constantFrom('application/json', 'application/x-www-form-urlencoded', 'text/plain', 'a/b+json'),
    )
    const charsets = fc.option(
      fc.record({
        value: word,
        name: fc.constantFrom('charset', 'Charset', 'CHARSET'),
        isQuoted: fc.boolean(),
        place: fc.nat(),
      }),
      { nil: undefined },
    )
    const values = fc.tuple(essences, charsets, fc.array(otherParameter, { maxLength: 3 }), blank, blank)
    holdFor(t, values, ([essence, charset, others, before, behind]) => {
      const parameters = [...others]
      if (charset !== undefined) {
        const { name, value, isQuoted, place } = charset
        parameters.splice(place % (others.length + 1), 0, `${name}=${isQuoted ? `"${value}"` : value}`)
      }
      const header = behind + [essence, ...parameters].join(`${before};${behind}`) + before
      const expected = { essence: essence.toLowerCase(), charset: charset?.value.toLowerCase() }
      assert.deepEqual(parseMediaType(header), expected)
    })
  })

  it('is JSON if and only if it is application/json or ends in +json', (t) => {
    const subtypes = fc.oneof(word, fc.constantFrom('json', 'jsonp', 'x-json', 'json-patch'))
    const suffixes = fc.constantFrom('', '', '+json', '+xml', '+jsonp', 'json')
    holdFor(
      t,
      fc.tuple(fc.oneof(word, fc.constant('application')), subtypes, suffixes, capitals),
      ([type, subtype, suffix, change]) => {
        const essence = `${type}/${subtype}${suffix}`
        const mediaType = parseMediaType(change(essence)) ?? assert.fail('there is none')
        const small = essence.toLowerCase()
        assert.equal(isJsonType(mediaType), small === 'application/json' || small.endsWith('+json'))
      },
    )
  })

  it('is absent only for blank text, and JSON only if the text says so', (t) => {
    const texts = joined(
      ['application/', 'json', '+json', ';', 'charset=', '"', 'utf-8', '/', ' ', '\t', '\u00a0', ',', '\\'],
      anyText,
    )
    holdFor(t, texts, (text) => {
      const mediaType = parseMediaType(text)
      assert.equal(mediaType === undefined, withoutBlanks(text) === '')
      if (mediaType === undefined) return
      const end = `${text};`.indexOf(';')
      assert.equal(mediaType.essence, withoutBlanks(text.slice(0, end)).toLowerCase())
      if (isJsonType(mediaType))
        assert.match(mediaType.essence, /^application\/json$|^[^/\s"]+\/[^/\s"]*\+json$/)
    })
  })
})

/** The status that decisions.md requires for a body, and for 200 the object. */
function expectedObject(
  headers: Record<string, string | undefined>,
  body: Buffer,
): [status: number, object?: unknown] {
  const { type, charset, encoding } = headers
  const isTaken = type === undefined || jsonTypes.includes(type) || looseTypes.includes(type)
  if (encoding !== undefined && encoding !== 'identity') return [415]
  if (!isTaken || (type !== undefined && charset !== undefined && !/^utf-?8$/i.test(charset))) return [415]
  if (body.length === 0 || !isUtf8(body)) return [400]
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  let object: unknown
  try {
    object = JSON.parse(body.subarray(hasMark ? 3 : 0).toString('utf8'))
  } catch {
    return [type !== undefined && jsonTypes.includes(type) ? 400 : 415]
  }
  const isPlain = Object.prototype.toString.call(object) === '[object Object]'
  return isPlain ? [200, object] : [400]
}
const jsonTypes = ['application/json', 'application/merge-patch+json', 'Application/JSON']
const looseTypes = ['application/x-www-form-urlencoded', 'text/plain', 'Text/Plain']
const otherTypes = [
  'text/html',
  'text/json',
  'application/jsonp',
  'application/octet-stream',
  'nonsense',
  'json',
]

const members = fc.array(
  fc.tuple(
    fc.oneof(fc.constantFrom('name', 'hostname', 'port', 'username', 'id', ...treacherousNames), anyText),
    fc.oneof(fc.jsonValue({ maxDepth: 1 }), anyText, fc.integer()),
  ),
  { maxLength: 4 },
)
const objectText = members.map(
  (some) => `{${some.map((pair) => pair.map((part) => JSON.stringify(part)).join(':')).join(',')}}`,
)
const jsonPieces = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ':',
  ',',
  '1',
  '-',
  'e9',
  '.',
  'null',
  '\\',
  '\\u',
  '\\ud800',
  '\0',
  ' ',
  '\n',
  '//',
  "'",
  '\ufeff',
]
const text = fc.oneof(
  { weight: 4, arbitrary: objectText },
  {
    weight: 3,
    arbitrary: fc
      .tuple(objectText, anyEdit(fc.constantFrom(...jsonPieces)))
      .map(([json, edit]) => applyEdit(json, edit)),
  },
  { weight: 1, arbitrary: joined(jsonPieces, anyText) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 1 }) },
  { weight: 1, arbitrary: fc.constantFrom('', 'port=2', 'null', '[]', '""', '1') },
)
const badBytes = fc.constantFrom(
  [0xff],
  [0xc3],
  [0x80],
  [0xc0, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xf5, 0x80, 0x80, 0x80],
  [0xef, 0xbb, 0xbf],
  [0xe2, 0x82],
)
const bytes = fc.oneof(
  { weight: 4, arbitrary: text.map((some) => Buffer.from(some)) },
  {
    weight: 1,
    arbitrary: fc.tuple(text, badBytes, fc.nat()).map(([some, bad, at]) => {
      const good = Buffer.from(some)
      const index = at % (good.length + 1)
      return Buffer.concat([good.subarray(0, index), Buffer.from(bad), good.subarray(index)])
    }),
  },
)
const bodyHeaders = fc.record({
  type: fc.constantFrom(
    undefined,
    'application/json',
    'application/json',
    ...jsonTypes,
    ...looseTypes,
    ...otherTypes,
  ),
  charset: fc.constantFrom(undefined, undefined, undefined, 'utf-8', 'UTF8', 'utf-16', 'latin1', ''),
  encoding: fc.constantFrom(undefined, undefined, undefined, undefined, 'identity', 'gzip'),
})

describe('a JSON body', () => {
  it('yields the parsed object or the documented problem, for any bytes of any type', async (t) => {
    await holdLaterFor(t, fc.tuple(bodyHeaders, bytes), async ([{ type, charset, encoding }, body]) => {
      const contentType = type === undefined || charset === undefined ? type : `${type}; charset=${charset}`
      const request = requestOf(
        headersOf({ 'content-type': contentType, 'content-encoding': encoding }),
        body,
      )
      const [status, object] = expectedObject({ type, charset, encoding }, body)
      try {
        const found = await readJsonObject(request)
        assert.equal(200, status)
        assert.equal(Object.getPrototypeOf(found), Object.prototype)
        assert.deepEqual(found, object)
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        assert.equal(error.status, status)
      }
    })
  })
})
