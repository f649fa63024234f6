import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Fault, InvalidInputError } from '../../src/errors.ts'
import { FAULTS_MAX } from '../../src/limits.ts'
import {
  Configuration,
  parseConfigurationPatch,
  parseNewConfiguration,
} from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

type Parse = typeof parseNewConfiguration | typeof parseConfigurationPatch

/** The faults of an input, as `field detail`. */
function faultsOf(parse: Parse, input: unknown): string[] {
  try {
    // Parsed from JSON text, as it arrives over the network.
    parse(typeof input === 'string' ? JSON.parse(input) : (input as Record<string, unknown>))
    return []
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    return error.faults.map(({ field, detail }: Fault) => `${field} ${detail}`)
  }
}

const emoji = '\u{1f5c4}'
const controls = [0x00, 0x09, 0x0a, 0x1f, 0x7f, 0x80, 0x85, 0x9f].map((code) => String.fromCharCode(code))
const label63 = 'a'.repeat(63)
const name253 = `${label63}.${label63}.${label63}.${'b'.repeat(61)}`

const texts = {
  good: [
    'a',
    ' ',
    ' a ',
    '\u00a0',
    'a/b',
    '%2e%2e',
    '?#',
    '...',
    '. ',
    '\\"',
    'ö',
    emoji,
    'x'.repeat(255),
    emoji.repeat(255),
  ],
  bad: [
    '',
    'x'.repeat(256),
    emoji.repeat(256),
    `${emoji.repeat(255)}x`,
    'x'.repeat(100_000),
    '\ud800',
    'a\udc00',
    '\udc00\ud800',
  ].concat(controls.map((control) => `a${control}b`)),
  wrongType: [null, 1, true, [], ['a'], {}],
}

const fields: Record<string, { good: unknown[]; bad: unknown[] }> = {
  name: {
    good: [...texts.good, '__proto__', 'constructor', 'a.', '..a'],
    bad: [...texts.bad, ...texts.wrongType, '.', '..'],
  },
  username: {
    good: [...texts.good, '.', '..', '__proto__'],
    bad: [...texts.bad, ...texts.wrongType],
  },
  port: {
    good: [1, 22, 65535, 22.0, 1e1],
    bad: [0, -0, -1, 65536, 22.5, 1e300, Number.MAX_SAFE_INTEGER + 1, '22', '022', '', null, true, [22], {}],
  },
  hostname: {
    good: [
      ...[
        'a',
        'A-1',
        '_srv._tcp.example',
        'a--b',
        'host.example',
        'host.example.',
        '1a.2b',
        '1.2.3.4a',
        'xn--bcher-kva.example',
      ],
      ...[label63, name253],
      ...['1.2.3.4', '0.0.0.0', '255.255.255.255'],
      ...['::', '::1', 'fe80::1%eth0', '2001:DB8::1', '::ffff:1.2.3.4', '[::1]', '[fe80::1%eth0]'],
      ...['bücher.example', '例え.テスト', `${emoji}.example`, 'faß.example', 'ｈｏｓｔ。example'],
    ],
    bad: [
      ...texts.bad,
      ...texts.wrongType,
      ...[
        '.',
        '..',
        '.a',
        'a..b',
        'a..',
        '-a',
        'a-',
        'a.-b',
        'a-.b',
        'a b',
        ' a',
        'a\u00a0b',
        'a/b',
        'a@b',
        'a%41',
        'a:22',
        'http://a',
      ],
      ...[
        `${label63}a`,
        `${name253}b`,
        `${label63}.`.repeat(4),
        'ü'.repeat(63),
        `${'ü'.repeat(40)}.`.repeat(6),
      ],
      ...[
        '1',
        '1.2.3',
        '1.2.3.4.5',
        '256.1.1.1',
        '1.2.3.4.',
        'a.1',
        'a.1.',
        '01.2.3.4',
        '１.２.３.４',
        'ä.1',
      ],
      ...[
        ':',
        ':::',
        '1::2::3',
        '[::1',
        '::1]',
        '[]',
        '[1.2.3.4]',
        '[a]',
        '[::1]:22',
        '[[::1]]',
        '1:2:3:4:5:6:7:8:9',
        '12345::',
      ],
    ],
  },
}

describe('parsing a configuration', () => {
  for (const [field, { good, bad }] of Object.entries(fields)) {
    it(`accepts every valid ${field}, unchanged`, () => {
      for (const value of good) {
        const input = { ...draft('a'), [field]: value }
        assert.deepEqual(parseNewConfiguration(input), input)
        assert.deepEqual(parseConfigurationPatch({ [field]: value }), { [field]: value })
      }
    })

    it(`refuses every invalid ${field}, and reports no other field`, () => {
      for (const value of bad) {
        const shown = JSON.stringify(value).slice(0, 80)
        for (const faults of [
          faultsOf(parseNewConfiguration, { ...draft('a'), [field]: value }),
          faultsOf(parseConfigurationPatch, { [field]: value }),
        ]) {
          assert.equal(faults.length, 1, shown)
          assert.match(faults[0] ?? '', new RegExp(`^${field} must `), shown)
        }
      }
    })
  }

  it('reads numbers as JSON writes them', () => {
    for (const [port, faults] of [
      ['22.0', 0],
      ['1e1', 0],
      ['2.2e1', 0],
      ['22.000001', 1],
      ['"22"', 1],
      ['1e999', 1],
    ] as const) {
      const input = `{"name":"a","hostname":"h","username":"u","port":${port}}`
      assert.equal(faultsOf(parseNewConfiguration, input).length, faults, port)
    }
  })

  it('lists all faults at once, in the order of the fields, then unknown members', () => {
    const input =
      '{"zone":1,"username":null,"port":0,"id":"ignored","__proto__":{},"name":"..","constructor":1}'
    const unknown = 'is not a member of a configuration: name, hostname, port, username or labels'
    assert.deepEqual(faultsOf(parseNewConfiguration, input), [
      'name must not be "." or "..", which no URL can carry',
      'hostname is missing',
      'port must be an integer from 1 to 65535',
      'username must be a string, not null',
      `zone ${unknown}`,
      `__proto__ ${unknown}`,
      `constructor ${unknown}`,
    ])
    assert.deepEqual(
      faultsOf(parseNewConfiguration, {}),
      ['name', 'hostname', 'port', 'username'].map((field) => `${field} is missing`),
    )
  })

  it(`lists the first ${FAULTS_MAX} faults of a body that is full of them`, () => {
    const input = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`x${i}`, i]))
    const faults = faultsOf(parseNewConfiguration, input)
    assert.equal(faults.length, FAULTS_MAX)
    assert.match(faults.at(-1) ?? '', new RegExp(`^x${FAULTS_MAX - 5} is not a member`))
  })

  it('does not treat inherited members as given', () => {
    assert.equal(faultsOf(parseNewConfiguration, Object.create(draft('a'))).length, 4)
  })

  it('ignores the id, so a record that was read can be sent back', () => {
    for (const id of [1, 0, 'x', null]) {
      assert.deepEqual(parseNewConfiguration({ id, ...draft('a') }), draft('a'))
      assert.deepEqual(parseConfigurationPatch({ id }), {})
    }
  })

  it('accepts an empty patch, and refuses unknown members and null', () => {
    assert.deepEqual(parseConfigurationPatch({}), {})
    assert.deepEqual(faultsOf(parseConfigurationPatch, { name: null }), ['name must be a string, not null'])
    assert.equal(faultsOf(parseConfigurationPatch, { Name: 'a' }).length, 1)
  })
})

describe('a configuration', () => {
  it('has its members in the order of the interface, whatever the order of the input', () => {
    const { name, hostname, port, username } = draft('ö')
    const record = new Configuration(7, { username, port, hostname, name })
    assert.equal(record.json, '{"id":7,"name":"ö","hostname":"host.example","port":22,"username":"ops"}')
    assert.equal(record.jsonBytes, Buffer.byteLength(record.json))
    assert.equal(record.jsonOnce, record.json)
    assert.equal(
      record.with({ username: 'x', port: 1 }).json,
      record.json.replace('22', '1').replace('ops', 'x'),
    )
  })

  it('is the same object after a patch that changes nothing', () => {
    const record = new Configuration(7, draft('a'))
    assert.equal(record.with({}), record)
    assert.equal(record.with({ name: 'a', port: 22 }), record)
  })

  it('has a strong entity tag that depends only on its content', () => {
    const record = new Configuration(7, draft('a'))
    assert.match(record.etag, /^"[\w-]{22}"$/)
    assert.equal(record.etag, new Configuration(7, draft('a')).etag)
    for (const other of [{ name: 'b' }, { hostname: 'h' }, { port: 1 }, { username: 'u' }]) {
      assert.notEqual(record.with(other).etag, record.etag)
    }
    assert.notEqual(new Configuration(8, draft('a')).etag, record.etag)
  })
})
