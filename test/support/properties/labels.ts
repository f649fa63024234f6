import * as fc from 'fast-check'
import { hasControlCharacter, recordName } from './texts.ts'

/** Names of what every JavaScript object has, and every kind of character. */
const treacherousKeys = [
  'constructor',
  'hasownproperty',
  'prototype',
  'labels',
  'id',
  'add',
  'tag',
  'event',
  'a',
  'a1',
  'a-b',
  'a_b',
  'a.b',
  'a/b',
  'group',
  'z'.repeat(63),
]

const anyKey = fc.oneof(
  fc.constantFrom(...treacherousKeys),
  fc.stringMatching(/^[a-z][a-z0-9._/-]{0,8}[a-z0-9]$/),
)

const anyValue = fc.oneof(
  fc.constantFrom('', ' ', 'a=b', 'a;b', '\\', '\\;', ';', '"', ',', '=', '{{ x }}', '"id":9', '[{"add":1}]'),
  recordName.filter((text) => !hasControlCharacter(text)),
)

/** Valid labels, at least one. */
export const anyLabels: fc.Arbitrary<Record<string, string>> = fc.dictionary(anyKey, anyValue, {
  minKeys: 1,
  maxKeys: 4,
  noNullPrototype: true,
})
