import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IMPORT_ROW_CHARACTERS_MAX } from '../../src/limits.ts'
import { draft } from '../support/store.ts'
import { draftsOf, faultsOf, web } from './read-text.ts'

describe('a JSONL import', () => {
  it('accepts one object a line, with blank lines and any line end', () => {
    for (const text of [web, `${web}\n`, `\ufeff\r\n${web}\r\n\n`, `\ufeff${web.replace('{', '{"id":7,')}\n`])
      assert.deepEqual(draftsOf('jsonl', text), [draft('web', { hostname: 'web.example' })], text)
  })

  it('names every faulty record with its line, and continues after it', () => {
    assert.deepEqual(faultsOf('jsonl', `[${web}]\n\n7\n{"name":\n${web}\n${web}\n`), [
      '1 row must be an object, not an array',
      '3 row must be an object, not a number',
      '4 row is not valid JSON',
      '6 name is the same as on line 5',
    ])
  })

  it('refuses a text without a record', () => {
    for (const text of ['', '\n\n']) assert.deepEqual(faultsOf('jsonl', text), ['1 document has no record'])
  })

  it('stops at a blank line that is too long', () => {
    const long = IMPORT_ROW_CHARACTERS_MAX
    const text = `${web}\n${' '.repeat(3 * long)}\n${web}`
    for (const pieceBytes of [1000, 10 * long]) {
      assert.deepEqual(faultsOf('jsonl', text, pieceBytes), [
        `2 row is longer than ${long} characters; nothing behind it was read`,
      ])
    }
  })

  it('stops at a record that is too long', () => {
    const long = IMPORT_ROW_CHARACTERS_MAX
    assert.deepEqual(faultsOf('jsonl', `${web}\n"${'x'.repeat(long)}"\n${web}`, 1000), [
      `2 row is longer than ${long} characters; nothing behind it was read`,
    ])
  })
})
