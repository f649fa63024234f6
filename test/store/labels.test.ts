import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidInputError } from '../../src/errors.ts'
import { FAULTS_MAX, LABELS_BYTES_MAX, LABELS_MAX } from '../../src/limits.ts'
import {
  Configuration,
  parseConfigurationPatch,
  parseNewConfiguration,
} from '../../src/store/configuration.ts'
import {
  areSameLabels,
  changedLabels,
  faultsOfLabels,
  groupsIn,
  hasGroup,
  labelOf,
  mergeLabels,
} from '../../src/store/labels.ts'
import { matcherOf } from '../../src/store/record-filter.ts'
import { draft } from '../support/store.ts'

const many = (count: number, value = '') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]))

/** The faults of an add and of a modification, as text. */
function faultsOf(parse: typeof parseNewConfiguration | typeof parseConfigurationPatch, labels: unknown) {
  try {
    parse({ ...draft('a'), labels })
    return []
  } catch (error) {
    assert.ok(error instanceof InvalidInputError)
    return error.faults.map(({ field, detail }) => `${field} ${detail}`)
  }
}

describe('the label group', () => {
  it('has members, with commas between them', () => {
    assert.deepEqual(groupsIn('web'), ['web'])
    assert.deepEqual(groupsIn(' web ,db one,,web, '), ['web', 'db one'])
    for (const none of ['', ' ', ',', ' , ,']) assert.deepEqual(groupsIn(none), [])
  })

  it('has each member, and the whole text, as a group', () => {
    const has = (value: string | undefined, ...some: string[]) => hasGroup(value, new Set(some))
    for (const group of ['web', 'db', ' web,db', '']) assert.equal(has(group && ' web,db', group), true)
    const none = ['we', 'WEB', ' web', 'web,db', '', ',']
    for (const group of none) assert.equal(has(' web,db', group), false, group)
    assert.equal(has(' web,db', ...none), false)
    assert.equal(has(' web,db', ...none, 'db'), true)
    assert.equal(has(',a, ,', ''), false)
    assert.equal(has(undefined, ''), false)
  })

  it('is taken apart once, however many filters ask for its members', (t) => {
    const members = Array.from({ length: 127 }, () => 'a')
    const record = new Configuration(1, { ...draft('n'), labels: { group: members.join(',') } })
    const labels = Array.from({ length: 32 }, (_, i) => ({ key: 'group', value: `a${',a'.repeat(i + 1)}` }))
    const wanted = matcherOf({ labels })
    const unwanted = matcherOf({ labels: labels.map((label) => ({ ...label, isWithout: true })) })
    const trim = t.mock.method(String.prototype, 'trim')
    for (const [matches, isKept] of [
      [wanted, false],
      [unwanted, true],
    ] as const) {
      trim.mock.resetCalls()
      assert.equal(matches(record), isKept)
      assert.ok(trim.mock.callCount() <= members.length, `${trim.mock.callCount()} members`)
    }
  })
})

describe('the rules of labels', () => {
  const good: Record<string, unknown> = {
    none: {},
    'an empty value': { env: '' },
    'the longest key': { ['k'.repeat(63)]: 'x' },
    'the longest value': { env: '\u{1f5c4}'.repeat(255) },
    'as many as allowed': many(LABELS_MAX, 'x'),
    'names of what every object has': JSON.parse('{"constructor":"x","hasownproperty":"y","prototype":""}'),
    'every character of a key': { 'a0._/-z': ' = ; \\ " ' },
  }
  for (const [what, labels] of Object.entries(good)) {
    it(`allow ${what}`, () => {
      assert.deepEqual(faultsOf(parseNewConfiguration, labels), [])
      assert.deepEqual(faultsOf(parseConfigurationPatch, labels), [])
    })
  }

  const badKeys = [
    '',
    'A',
    '1a',
    '_a',
    'a_',
    'a-',
    'a.',
    'a b',
    'ä',
    'a\n',
    '__proto__',
    'k'.repeat(64),
    'a\u0000',
  ]
  for (const key of badKeys) {
    it(`refuse the key ${JSON.stringify(key)}, also where null would remove it`, () => {
      const labels = Object.fromEntries([
        ['env', 'x'],
        [key, 'x'],
      ])
      for (const parse of [parseNewConfiguration, parseConfigurationPatch]) {
        const faults = faultsOf(parse, labels)
        assert.equal(faults.length, 1)
        assert.ok(faults[0]?.startsWith(`labels.${key} is not a label: a key is 1 to 63 of a-z, 0-9,`))
      }
      assert.equal(faultsOf(parseConfigurationPatch, Object.fromEntries([[key, null]])).length, 1)
    })
  }

  const badValues: [unknown, string][] = [
    [1, 'must be a string, not a number'],
    [true, 'must be a string, not a boolean'],
    [['x'], 'must be a string, not an array'],
    [{}, 'must be a string, not an object'],
    ['a\nb', 'must not hold control characters'],
    ['\u0085', 'must not hold control characters'],
    ['\ud800', 'must not hold a lone surrogate'],
    ['x'.repeat(256), 'must not be longer than 255 characters'],
  ]
  for (const [value, detail] of badValues) {
    it(`refuse the value ${JSON.stringify(value).slice(0, 20)}, and name each label`, () => {
      const expected = ['a', 'constructor'].map((key) => `labels.${key} ${detail}`)
      for (const parse of [parseNewConfiguration, parseConfigurationPatch])
        assert.deepEqual(faultsOf(parse, { a: value, good: 'x', constructor: value }), expected)
    })
  }

  it('take null for a removal in a modification only', () => {
    assert.deepEqual(faultsOf(parseNewConfiguration, { a: null }), ['labels.a must be a string, not null'])
    assert.deepEqual(faultsOf(parseConfigurationPatch, { a: null }), [])
  })

  for (const [input, kind] of [
    [null, 'null'],
    [[], 'an array'],
    ['env=prod', 'a string'],
    [1, 'a number'],
  ] as const) {
    it(`refuse ${kind} instead of an object`, () => {
      for (const parse of [parseNewConfiguration, parseConfigurationPatch])
        assert.deepEqual(faultsOf(parse, input), [`labels must be an object of texts, not ${kind}`])
    })
  }

  it('limit their number and their bytes, in UTF-8', () => {
    assert.deepEqual(faultsOf(parseNewConfiguration, many(33)), ['labels must be at most 32; these are 33'])
    const full = many(LABELS_MAX, 'x'.repeat(119))
    const bytes = Buffer.byteLength(JSON.stringify(full))
    const fits = { ...full, k0: 'x'.repeat(119 + LABELS_BYTES_MAX - bytes) }
    assert.deepEqual(faultsOfLabels(fits), [])
    assert.deepEqual(faultsOfLabels({ ...fits, k0: `${fits.k0}x` }), [
      { field: 'labels', detail: 'must take at most 4096 bytes as JSON; these take 4097' },
    ])
    assert.equal(faultsOfLabels({ ...fits, k0: `${fits.k0.slice(1)}é` }).length, 1)
  })

  it('list no more faults than others do', () => {
    const patch = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`K${i}`, null]))
    assert.equal(faultsOf(parseConfigurationPatch, patch).length, FAULTS_MAX)
  })
})

describe('the labels of a record', () => {
  it('leave no trace when there are none', () => {
    for (const labels of [undefined, {}]) {
      const record = new Configuration(7, { ...draft('a'), labels })
      assert.deepEqual(Object.keys(record), Object.keys(new Configuration(7, draft('a'))))
      assert.equal(record.json, '{"id":7,"name":"a","hostname":"host.example","port":22,"username":"ops"}')
    }
  })

  it('are refused when a merge makes too many of them', () => {
    const record = new Configuration(7, draft('a', { labels: many(LABELS_MAX, 'x') }))
    assert.throws(() => record.with({ labelsPatch: { more: 'x' } }), InvalidInputError)
    assert.equal(Object.keys(record.with({ labelsPatch: { more: 'x', k0: null } }).labels ?? {}).length, 32)
    assert.throws(() => mergeLabels(many(17, 'x'.repeat(255)), { more: 'x' }), InvalidInputError)
  })

  it('are found by key, but not what every object has', () => {
    assert.equal(labelOf({ constructor: 'x' }, 'constructor'), 'x')
    assert.equal(labelOf({ env: 'x' }, 'constructor'), undefined)
    assert.equal(labelOf(undefined, 'constructor'), undefined)
    assert.deepEqual(changedLabels({ env: 'x' }, { constructor: 'x', env: 'x' }), ['constructor'])
    assert.ok(areSameLabels(undefined, undefined) && areSameLabels({ b: '1', a: '2' }, { a: '2', b: '1' }))
  })
})
