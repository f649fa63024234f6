import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { domainToASCII } from 'node:url'
import * as fc from 'fast-check'
import { InvalidInputError } from '../../src/errors.ts'
import {
  parseConfigurationPatch,
  parseNewConfiguration,
  parseReplacement,
} from '../../src/store/configuration.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { isHostname } from '../support/properties/reference-hostname.ts'
import { anyText, hasControlCharacter, recordName, treacherousNames } from '../support/properties/texts.ts'
import { anyHostname } from './hostname-texts.ts'

const fields = ['name', 'hostname', 'port', 'username'] as const
type Parse = (input: Record<string, unknown>) => object

/** The rules of decisions.md. */
const isGood: Record<(typeof fields)[number], (value: unknown) => boolean> = {
  name: (value) => isPlainText(value, 255) && value !== '.' && value !== '..',
  hostname: (value) => isPlainText(value, 253) && isHostname(String(value)),
  port: (value) => Number.isSafeInteger(value) && Number(value) > 0 && Number(value) < 65_536,
  username: (value) => isPlainText(value, 255),
}

function isPlainText(value: unknown, charactersMax: number): boolean {
  if (typeof value !== 'string' || value === '' || hasControlCharacter(value)) return false
  let characters = 0
  for (const character of value) {
    characters += 1
    const isLoneSurrogate = character.length === 1 && character >= '\ud800' && character <= '\udfff'
    if (isLoneSurrogate) return false
  }
  return characters <= charactersMax
}

/** The faulty members, in the order in which they must be reported. */
function expectedFaults(input: Record<string, unknown>, isComplete: boolean): string[] {
  const faulty = fields.filter((field) =>
    Object.hasOwn(input, field) ? !isGood[field](input[field]) : isComplete,
  )
  const unknown = Object.keys(input).filter(
    (member) => member !== 'id' && !(fields as readonly string[]).includes(member),
  )
  return [...faulty, ...unknown]
}

/** The parsed value, or the faulty members. */
function parseOf(parse: Parse, json: string): { parsed: object } | { faults: string[] } {
  try {
    return { parsed: parse(JSON.parse(json)) }
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    for (const { detail } of error.faults) assert.match(detail, /^(is|must) .*[^.]$/)
    return { faults: error.faults.map(({ field }) => field) }
  }
}

const longText = fc
  .tuple(
    fc.constantFrom('x', 'é', '\u{1f5c4}'),
    fc.integer({ min: 252, max: 257 }),
    fc.constantFrom('', '\n', '\ud800', '\x85'),
  )
  .map(([character, length, end]) => character.repeat(length) + end)
const text = fc.oneof(
  { weight: 6, arbitrary: recordName },
  { weight: 2, arbitrary: anyText },
  { weight: 1, arbitrary: longText },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '.',
      '..',
      '',
      '\t',
      '\x7f',
      '\x9f',
      '\u00a0',
      '\ufeff',
      '\udc00\ud800',
      ...treacherousNames,
    ),
  },
)
const wrongType = fc.constantFrom<unknown>(null, true, 1, [], ['a'], {}, { toString: 'a' }, '22')
const port = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -1, max: 65_537 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(0, -0, 1, 65_535, 65_536, 22.5, 1e300, 2 ** 53, '22', null),
  },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
)
const field = <T>(usual: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 12, arbitrary: usual as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: wrongType })
const knownMembers = fc.record(
  {
    name: field(text),
    hostname: field(anyHostname),
    port: field(port),
    username: field(text),
    id: fc.constantFrom<unknown>(1, 'x', null, {}),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const mostMembers = fc.record(
  {
    name: field(text),
    hostname: field(fc.oneof(fc.domain(), anyHostname)),
    port: field(port),
    username: field(text),
  },
  { noNullPrototype: true },
)
const unknownMembers = fc.oneof(
  { weight: 3, arbitrary: fc.constant<[string, unknown][]>([]) },
  {
    weight: 1,
    arbitrary: fc.array(
      fc.tuple(
        fc.constantFrom('Name', 'names', 'host', 'zone', 'ID', '', ...treacherousNames),
        fc.constantFrom<unknown>(1, null, {}, { name: 'a' }),
      ),
      { maxLength: 2 },
    ),
  },
)

/** The JSON of a body: its members in some order, some of them perhaps twice. */
const bodies = fc
  .tuple(
    fc.oneof({ weight: 3, arbitrary: mostMembers }, { weight: 1, arbitrary: knownMembers }),
    unknownMembers,
  )
  .chain(([known, unknown]) => {
    const entries: [string, unknown][] = [...Object.entries(known), ...unknown]
    return fc.shuffledSubarray(entries, { minLength: entries.length })
  })

function toJson(entries: readonly (readonly [string, unknown])[]): string {
  return `{${entries.map((pair) => pair.map((part) => JSON.stringify(part)).join(':')).join(',')}}`
}

interface Parser {
  readonly parse: Parse
  /** Whether every field is required. */
  readonly isComplete: boolean
}
const parsers = fc.constantFrom<Parser>(
  { parse: parseNewConfiguration, isComplete: true },
  { parse: parseConfigurationPatch, isComplete: false },
)

describe('the body of an add or a patch', () => {
  it('is accepted when the rules allow it, or refused with every fault in order', (t) => {
    holdFor(t, fc.tuple(parsers, bodies), ([{ parse, isComplete }, entries]) => {
      const json = toJson(entries)
      const input = JSON.parse(json) as Record<string, unknown>
      const faults = expectedFaults(input, isComplete)
      const given = fields.filter((name) => Object.hasOwn(input, name)).map((name) => [name, input[name]])
      const expected = faults.length > 0 ? { faults } : { parsed: Object.fromEntries(given) }
      assert.deepEqual(parseOf(parse, json), expected)
    })
  })

  it('means the same in any order of its members, and when it is sent back', (t) => {
    const twoOrders = bodies
      .map((entries) => [...new Map(entries)])
      .chain((entries) =>
        fc.tuple(fc.constant(entries), fc.shuffledSubarray(entries, { minLength: entries.length })),
      )
    holdFor(t, fc.tuple(parsers, twoOrders), ([{ parse }, [entries, others]]) => {
      const first = parseOf(parse, toJson(entries))
      const second = parseOf(parse, toJson(others))
      if ('faults' in first) {
        assert.deepEqual('faults' in second && second.faults.toSorted(), first.faults.toSorted())
        return
      }
      assert.deepEqual(second, first)
      assert.deepEqual(parseOf(parse, JSON.stringify({ id: 7, ...first.parsed })), first)
    })
  })
})

describe('the body of a replacement', () => {
  it('is accepted when that of an add is, with the name of the path, and refused for another name', (t) => {
    const names = fc.oneof({ weight: 3, arbitrary: recordName }, { weight: 1, arbitrary: text })
    holdFor(t, fc.tuple(bodies, names, fc.boolean()), ([entries, name, repeatsName]) => {
      const json = toJson(repeatsName ? [...entries, ['name', name]] : entries)
      const found = parseOf((input) => parseReplacement(input, name), json)
      const input = JSON.parse(json) as Record<string, unknown>
      const isOther = Object.hasOwn(input, 'name') && input.name !== name
      const asAdded = parseOf(parseNewConfiguration, JSON.stringify({ ...input, name }))
      if (!isOther) assert.deepEqual(found, asAdded)
      else assert.deepEqual(found, { faults: ['name', ...('faults' in asAdded ? asAdded.faults : [])] })
    })
  })
})

describe('a hostname', () => {
  const isTaken = (hostname: string) =>
    'parsed' in parseOf(parseConfigurationPatch, JSON.stringify({ hostname }))

  it('is accepted exactly when it is a DNS name, an IPv4 or an IPv6 address', (t) => {
    holdFor(t, anyHostname, (hostname) => {
      assert.equal(isTaken(hostname), isGood.hostname(hostname), hostname)
    })
  })

  it('in another script is accepted only when its DNS form is accepted too', (t) => {
    holdFor(t, anyHostname, (hostname) => {
      if (hostname.split('').every((unit) => unit < '\x80') || !isTaken(hostname)) return
      const ascii = domainToASCII(hostname)
      assert.ok(isTaken(ascii), ascii)
      assert.equal(domainToASCII(ascii), ascii)
    })
  })
})
