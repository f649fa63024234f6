import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ImportFormatName, importFormatNames, rowReaders } from '../../src/exchange/import-formats.ts'

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
