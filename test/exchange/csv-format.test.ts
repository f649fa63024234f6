import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { csvFormat } from '../../src/exchange/csv-format.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

describe('a record as CSV', () => {
  it('is a line after a header that names its columns', () => {
    assert.equal(csvFormat.start, 'name,hostname,port,username\r\n')
    assert.equal(csvFormat.encode(new Configuration(1, draft('a'))), 'a,host.example,22,ops\r\n')
  })

  it('quotes text that would otherwise be misread', () => {
    const cells: Record<string, string> = {
      'a,b': '"a,b"',
      'a"b': '"a""b"',
      ' a': '" a"',
      'a\u00a0': '"a\u00a0"',
      "it's": "it's",
      'a b': 'a b',
    }
    for (const [name, cell] of Object.entries(cells)) {
      const line = csvFormat.encode(new Configuration(1, draft(name)))
      assert.equal(line, `${cell},host.example,22,ops\r\n`)
    }
  })
})
