import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  parseColumns,
  parseLabel,
  parseLimit,
  parseListLimit,
  parseShownField,
  parseTag,
} from '../../src/command-line/client-options.ts'
import { ALL_HISTORY_ENTRIES_MAX } from '../../src/limits.ts'

/** What a reader makes of texts; undefined for those that it refuses, with what they must be. */
function itReads(
  read: (text: string) => unknown,
  message: RegExp,
  rows: Readonly<Record<string, unknown>>,
): void {
  for (const [text, expected] of Object.entries(rows)) {
    it(`${expected === undefined ? 'refuses' : 'reads'} ${JSON.stringify(text)}`, () => {
      if (expected !== undefined) assert.deepEqual(read(text), expected)
      else assert.throws(() => read(text), { name: 'RangeError', message })
    })
  }
}

describe('a member of a record that is shown alone', () => {
  itReads(parseShownField, /^id, name, hostname, port, username or label\.KEY$/, {
    id: { field: 'id' },
    username: { field: 'username' },
    'labels.env': { label: 'env' },
    'labels.a.b': { label: 'a.b' },
    'label.env': { label: 'env' },
    'label.': undefined,
    'labels.__proto__': { label: '__proto__' },
    labels: undefined,
    'labels.': undefined,
    Name: undefined,
    toString: undefined,
    '': undefined,
  })
})

describe('columns of a list', () => {
  itReads(parseColumns, /^columns with commas between them: id, name, .*, label\.KEY, labels$/, {
    name: [{ name: 'name', shown: { field: 'name' } }],
    'id,labels,label.env,labels.x': [
      { name: 'id', shown: { field: 'id' } },
      { name: 'labels', shown: undefined },
      { name: 'label.env', shown: { label: 'env' } },
      { name: 'labels.x', shown: { label: 'x' } },
    ],
    '': undefined,
    'name,': undefined,
    'name, port': undefined,
    Name: undefined,
    label: undefined,
  })
})

describe('how many records a list shows', () => {
  itReads(parseListLimit, /^a number from 1 on$/, {
    1: 1,
    999999999: 999_999_999,
    0: undefined,
    '01': undefined,
    '-1': undefined,
    '': undefined,
    x: undefined,
  })
})

describe('a tag', () => {
  itReads(parseTag, /^an ETag, /, {
    abc: '"abc"',
    '"abc"': '"abc"',
    '*': '"*"',
    '': undefined,
    '""': undefined,
    'a b': undefined,
    'a"b': undefined,
    'W/"a"': undefined,
    'a\r\nb': undefined,
    é: undefined,
  })
})

describe('a label', () => {
  itReads(parseLabel, /^KEY=VALUE$/, {
    'env=prod': ['env', 'prod'],
    'env=': ['env', ''],
    'a=b=c': ['a', 'b=c'],
    // The server says what a key may be.
    'A b=c': ['A b', 'c'],
    '=x': undefined,
    env: undefined,
    '': undefined,
  })
})

describe('a number of entries', () => {
  itReads(parseLimit, new RegExp(`^a number from 1 to ${ALL_HISTORY_ENTRIES_MAX}$`), {
    1: 1,
    [ALL_HISTORY_ENTRIES_MAX]: ALL_HISTORY_ENTRIES_MAX,
    [ALL_HISTORY_ENTRIES_MAX + 1]: undefined,
    0: undefined,
    '01': undefined,
    '-1': undefined,
    '1.5': undefined,
    '1e2': undefined,
    ' 1': undefined,
    '': undefined,
  })
})
