import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readChapterNamed } from '../manual/published.ts'

describe('the chapter on the audit trail', () => {
  it('names every event that can be in it, and no other', async () => {
    const source = await readFile(join(import.meta.dirname, '../../src/audit/audit-line.ts'), 'utf8')
    const type = /export type AuditEvent =((?:\s+\| '\w+')+)/.exec(source)?.[1] ?? assert.fail('no type')
    const events = ['lines_lost', ...Array.from(type.matchAll(/'(\w+)'/g), ([, event = '']) => event)]
    const table = /\n## Every event\n(.*?)\n## /s.exec(readChapterNamed('audit'))?.[1] ?? ''
    const named = Array.from(table.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm), ([, cell = '']) =>
      Array.from(cell.matchAll(/`(\w+)`/g), ([, event = '']) => event),
    )
    assert.deepEqual(named.flat().toSorted(), events.toSorted())
  })
})
