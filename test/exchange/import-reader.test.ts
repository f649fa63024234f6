import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ImportFormatName, importFormatNames, rowReaders } from '../../src/exchange/import-reader.ts'
import { assertRowsRead, read } from './read-text.ts'

describe('an import of any format', () => {
  it('keeps faults up to its limit, and counts the others', () => {
    const { faults, faultCount } = read('json', `[${'1,'.repeat(500)}1]`, 100, 10)
    assert.deepEqual([faults.length, faultCount, faults.at(-1)?.line], [10, 501, 1])
  })

  it('reads rows up to its limit, and none after it', () => {
    assertRowsRead(20)
  })

  it('refuses bytes that are not UTF-8, also at the very end', () => {
    for (const bytes of ['[\xff]', '[\xc3']) {
      assert.throws(
        () => read('json', Buffer.from(bytes, 'latin1')),
        /^InvalidInputError: The text is not valid UTF-8/,
      )
    }
  })
})

describe('the formats of an import', () => {
  const texts: Record<ImportFormatName, string> = {
    json: '[{"name":"a","hostname":"h","port":1,"username":"u"}]',
    jsonl: '{"name":"a","hostname":"h","port":1,"username":"u"}\n',
    csv: 'name,hostname,port,username\na,h,1,u\n',
    'ssh-config': 'Host a\n  HostName h\n  Port 1\n  User u\n',
  }

  it('are the formats that can be read back', () => assert.deepEqual(importFormatNames, Object.keys(texts)))

  for (const format of importFormatNames) {
    it(`read the same record from ${format}`, () => {
      const reader = rowReaders[format]()
      const [row, ...others] = [...reader.read(texts[format]), ...reader.end()]
      assert.deepEqual(row && 'fields' in row && { ...row.fields }, {
        name: 'a',
        hostname: 'h',
        port: 1,
        username: 'u',
      })
      assert.deepEqual(others, [])
    })
  }
})
