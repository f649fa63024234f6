import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IMPORT_ROW_CHARACTERS_MAX } from '../../src/limits.ts'
import { draft } from '../support/store.ts'
import { draftsOf, faultsOf, web } from './read-text.ts'

describe('a JSON import', () => {
  it('accepts an array or the envelope, with white space anywhere, and ignores ids', () => {
    const texts = [
      `[${web}]`,
      `{"configurations":[${web}]}`,
      ` \n{ "configurations"\t:\n [ ${web.replaceAll(',', ',\r\n')} ]\n }\n`,
      `\ufeff[${web.replace('{', '{"id":7,')}]`,
    ]
    for (const text of texts) {
      assert.deepEqual(draftsOf('json', text), [draft('web', { hostname: 'web.example' })], text)
      assert.deepEqual(draftsOf('json', text, 1), draftsOf('json', text, 1000))
    }
    assert.deepEqual([draftsOf('json', '[]'), draftsOf('json', '{"configurations": [\n] }')], [[], []])
  })

  it('names every faulty record with its line, and continues after it', () => {
    const text = `[\n{"name":1},\n\n  7, null,\n"a]b,{",\n[1,[2]],\n{"name":"x"\n"y"},\n${web},\n${web},\n{"name":"z","hostname":"h","port":"22","username":"u","user":"u"},\n]`
    assert.deepEqual(faultsOf('json', text), [
      '2 name must be a string, not a number',
      '2 hostname is missing',
      '2 port is missing',
      '2 username is missing',
      '4 row must be an object, not a number',
      '4 row must be an object, not null',
      '5 row must be an object, not a string',
      '6 row must be an object, not an array',
      '7 row is not valid JSON',
      '10 name is the same as on line 9',
      '11 port must be an integer, not a string',
      '11 user is not a member of a configuration: name, hostname, port, username or labels',
      '12 row is empty: a comma too many',
    ])
  })

  const documents: Record<string, string> = {
    '': '1 document must be an array, or {"configurations":[…]}',
    '\n{"records":[]}': '1 document must be an array, or {"configurations":[…]}',
    [web]: '1 document must be an array, or {"configurations":[…]}',
    [`[\n${web}`]: '2 document ends before the array does',
    [`{"configurations":[\n${web}]`]: '2 document ends without the "}" of the start',
    [`[${web}]}`]: '1 document has something behind the array; that was not read',
    [`{"configurations":[${web}],\n"more":1}`]:
      '1 document has something behind the array; that was not read',
    [`[${web}}]`]: '1 document has a bracket that does not fit; nothing behind it was read',
  }
  for (const [text, fault] of Object.entries(documents)) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.deepEqual(faultsOf('json', text), [fault]))
  }

  it('stops at a record that is too long, and at an invalid start', () => {
    const long = IMPORT_ROW_CHARACTERS_MAX
    assert.deepEqual(faultsOf('json', `[${web},\n"${'x'.repeat(long)}",${web}`, 1000), [
      `2 row is longer than ${long} characters; nothing behind it was read`,
    ])
    assert.deepEqual(faultsOf('json', ' '.repeat(5000), 1000), [
      '1 document must begin as an array, or as {"configurations":[',
    ])
  })

  it('refuses __proto__ as an unknown member', () => {
    const [fault] = faultsOf('json', `[${web.replace('{', '{"__proto__":{},')}]`)
    assert.equal(
      fault,
      '1 __proto__ is not a member of a configuration: name, hostname, port, username or labels',
    )
  })
})

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
