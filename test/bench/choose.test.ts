import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chooseByWords } from './choose.ts'

describe('chooseByWords', () => {
  const items = { 'idle memory': 1, starts: 2, 'memory of records': 3, pages: 4 }

  it('takes all when there is no word', () => {
    assert.deepEqual(chooseByWords(items, []), [1, 2, 3, 4])
  })

  it('takes those with any of the words in their names, in the order of all', () => {
    assert.deepEqual(chooseByWords(items, ['memory']), [1, 3])
    assert.deepEqual(chooseByWords(items, ['pages', 'idle']), [1, 4])
  })

  it('refuses a word that is in no name, and names all that there are', () => {
    assert.throws(() => chooseByWords(items, ['pages', 'strats']), {
      name: 'RangeError',
      message:
        'Cannot measure "strats": no name has this word; write npm run bench -- WORD, of: idle memory, starts, memory of records, pages',
    })
  })
})
