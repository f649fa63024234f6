import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countNewlines, faultyRow, nextMatch, tooLongRow } from '../../src/exchange/row.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../../src/limits.ts'

describe('a faulty row', () => {
  it('has its line and what is wrong, for the whole row by default', () => {
    assert.deepEqual(faultyRow(3, 'is empty'), { line: 3, fault: { field: 'row', detail: 'is empty' } })
    assert.equal(faultyRow(3, 'is missing', 'header').fault.field, 'header')
    assert.match(tooLongRow(4).fault.detail, new RegExp(`^is longer than ${IMPORT_ROW_CHARACTERS_MAX} `))
  })
})

describe('looking for the next match', () => {
  it('begins at the given position, whatever was found before', () => {
    const pattern = /[,;]/g
    assert.deepEqual(
      [0, 1, 2, 4, 0].map((from) => nextMatch('a,b;c', pattern, from)),
      [1, 1, 3, 5, 1],
    )
  })
})

describe('counting newlines', () => {
  it('counts line feeds, also consecutive ones and those at the ends', () => {
    const texts = { '': 0, a: 0, '\n': 1, '\na\n\nb\n': 4, '\r': 0, 'a\r\nb': 1 }
    for (const [text, count] of Object.entries(texts)) assert.equal(countNewlines(text), count)
  })
})
