import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fitTable } from '../../src/command-line/fitted-table.ts'
import { plainStyle } from '../support/plain-style.ts'

const headings = ['call', 'does', 'answers']
const rows = [
  ['GET /a', 'reads one of the many things that are kept here', '200, or 404 when there is none'],
  ['PUT /b', 'writes', ''],
]
const at = (columns: number) => fitTable(headings, rows, { ...plainStyle, columns })

describe('a fitted table', () => {
  it('has a line a row where there is room', () => {
    assert.deepEqual(at(100), [
      'call    does                                             answers',
      'GET /a  reads one of the many things that are kept here  200, or 404 when there is none',
      'PUT /b  writes',
    ])
  })

  it('breaks cells into lines where there is less', () => {
    assert.deepEqual(at(60), [
      'call    does                       answers',
      'GET /a  reads one of the many      200, or 404 when there',
      '        things that are kept here  is none',
      'PUT /b  writes',
    ])
  })

  it('lists the cells below the first one where the columns would be too narrow', () => {
    assert.deepEqual(at(40), [
      'GET /a',
      '  does: reads one of the many things',
      '  that are kept here',
      '  answers: 200, or 404 when there is',
      '  none',
      '',
      'PUT /b',
      '  does: writes',
    ])
  })

  it('leaves out an empty heading when it lists', () => {
    const style = { ...plainStyle, columns: 40 }
    const wide = 'a sentence that is far too long for a column beside the other'
    assert.deepEqual(fitTable(['name', ''], [['a_name_that_takes_thirty_columns', wide]], style), [
      'a_name_that_takes_thirty_columns',
      '  a sentence that is far too long for a',
      '  column beside the other',
    ])
  })

  it('has bold headings, or bold first cells when it lists', () => {
    const bold = (columns: number) =>
      fitTable(headings, rows, { isTerminal: true, isBold: true, columns }).filter((line) =>
        line.startsWith('\u001b[1m'),
      )
    assert.deepEqual(bold(100).length, 1)
    assert.deepEqual(bold(40), ['\u001b[1mGET /a\u001b[22m', '\u001b[1mPUT /b\u001b[22m'])
  })
})
