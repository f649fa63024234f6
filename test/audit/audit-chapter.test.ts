import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { auditEvents } from '../../src/audit/audit-line.ts'
import { readChapterNamed } from '../manual/published.ts'

describe('the chapter on the audit trail', () => {
  it('names every event that can be in it, and no other', () => {
    const table = /\n## Every event\n(.*?)\n## /s.exec(readChapterNamed('audit'))?.[1] ?? ''
    const named = Array.from(table.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm), ([, cell = '']) =>
      Array.from(cell.matchAll(/`(\w+)`/g), ([, event = '']) => event),
    )
    assert.deepEqual(named.flat().toSorted(), auditEvents.toSorted())
  })
})
