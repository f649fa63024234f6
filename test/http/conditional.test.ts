import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { conditionIn, isExpected, isUnchanged, tagsIn } from '../../src/http/conditional.ts'
import { Problem } from '../../src/http/problem.ts'

const etag = '"ab,c"'

describe('entity tags in conditions', () => {
  const rows: [header: string, isUnchanged: boolean, isExpected: boolean][] = [
    [etag, true, true],
    ['*', true, true],
    [' * ', true, true],
    [`"x", ${etag}`, true, true],
    [`"x",${etag},"y"`, true, true],
    [`W/${etag}`, true, false],
    [`"x", W/${etag}`, true, false],
    ['"x"', false, false],
    ['W/"x"', false, false],
    ['""', false, false],
    ['"AB,C"', false, false],
    ['"ab", "c"', false, false],
  ]
  for (const [header, unchanged, expected] of rows) {
    it(`${JSON.stringify(header)}: ${unchanged ? '304' : 'sent'}, ${expected ? 'changed' : '412'}`, () => {
      assert.equal(isUnchanged(header, etag), unchanged)
      assert.equal(isExpected(header, etag), expected)
    })
  }

  const malformed = [
    ...['', ' ', ',', ', ,', 'ab,c', '"ab,c', 'ab,c"', `x${etag}`, `${etag}x`, `xx${etag}yy`, `x, ${etag}`],
    ...[`${etag} "x"`, `${etag};q=1`, `w/${etag}`, `W/ ${etag}`, 'W/', `'ab,c'`, '"a b"', '"a\tb"', '"\x7f"'],
    ...[`${etag}, *`, `*, ${etag}`, '*,', '**', '* *', `\xa0${etag}`, '\xa0*', `"\\"ab"`, '"'.repeat(15_001)],
  ]
  for (const header of malformed) {
    it(`${JSON.stringify(header.slice(0, 20))}: ignored by a read, refused by a change`, () => {
      assert.equal(isUnchanged(header, etag), false)
      assert.equal(isExpected(header, etag), true)
      assert.deepEqual(tagsIn(header), [])
      for (const name of ['If-Match', 'If-None-Match']) {
        const isRefusal = (error: unknown) =>
          error instanceof Problem &&
          error.code === 'malformed_condition' &&
          error.message.includes(`${name}: "`)
        assert.throws(() => conditionIn({ [name.toLowerCase()]: header }), isRefusal)
        assert.throws(() => conditionIn({ 'if-match': '*', [name.toLowerCase()]: header }), isRefusal)
      }
    })
  }

  it('may stand in a list with empty places, as joined lines have them', () => {
    for (const list of [`, ${etag}`, `${etag},`, ` ,\t"x" ,, ${etag} , `, `"\xff",${etag}`]) {
      assert.equal(isUnchanged(list, etag), true, list)
      assert.equal(conditionIn({ 'if-match': list })?.(etag), true, list)
    }
  })

  it('of a change must all hold', () => {
    const holds = (headers: Record<string, string>) => conditionIn(headers)?.(etag)
    assert.equal(holds({}), undefined)
    assert.equal(holds({ 'if-match': etag }), true)
    assert.equal(holds({ 'if-match': `W/${etag}` }), false)
    assert.equal(holds({ 'if-none-match': `W/${etag}` }), false)
    assert.equal(holds({ 'if-none-match': '"x"' }), true)
    assert.equal(holds({ 'if-match': '*', 'if-none-match': '*' }), false)
  })

  it('never match when there is no If-None-Match', () => assert.equal(isUnchanged(undefined, etag), false))
})
