import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NoAnswerError } from '../../src/client/call.ts'
import { readRecords } from '../../src/client/record-stream.ts'
import { OtherAnswerError } from '../../src/client/refused.ts'
import { SERVED_RECORD_CHARACTERS_MAX } from '../../src/limits.ts'

async function* cut(text: string, length: number) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

/** The JSON texts of the records of a list that comes in pieces of some bytes. */
async function read(text: string, length = Number.MAX_SAFE_INTEGER): Promise<string[]> {
  const found: string[] = []
  for await (const records of readRecords(cut(text, length), 'here'))
    found.push(...records.map(({ json }) => json))
  return found
}

const records = [
  { id: 1, name: 'a', hostname: 'h', port: 22, username: 'u' },
  { id: 2, name: '}]{["\\', hostname: 'é😀', port: 1, username: '\\"}', labels: { env: '[{"\\', group: '' } },
  { id: 3, name: 'c\u2028\u001b', hostname: 'h', port: 65_535, username: ',' },
]
const list = JSON.stringify({ configurations: records })

describe('readRecords', () => {
  it('finds the records of a list that is cut anywhere', async () => {
    const expected = records.map((record) => JSON.stringify(record))
    for (let length = 1; length <= Buffer.byteLength(list); length += 1)
      assert.deepEqual(await read(list, length), expected)
  })

  it('finds those of a list with white space and with unknown members, each on a line', async () => {
    const spaced = JSON.stringify(
      { configurations: [{ ...records[0], more: { deep: [1, { x: 2 }] } }] },
      null,
      2,
    )
    const [json = '', ...others] = await read(`\n${spaced}\n`, 7)
    assert.deepEqual(others, [])
    assert.ok(!json.includes('\n'))
    assert.equal(JSON.parse(json).more.deep[0], 1)
    assert.deepEqual(await read(' { "configurations" : [ ] } '), [])
  })

  const notLists = [
    '{}',
    '[]',
    '[[{}]]',
    'null',
    '"x"',
    '<html>',
    '{"error":"x"}',
    '{"a":1,"configurations":[]}',
    '{"configurations":{}}',
    `${list}{`,
    `${list}x`,
    '{"configurations":[{"id":1}]}',
    '{"configurations":[[1]]}',
    '{"configurations":[{x}]}',
    list.replace('"a"', '"a\nb"'),
    list.replace('"id":1', '"id":0'),
    list.replace('"port":22', '"port":022'),
    list.replace('"username":"u"', '"username":"u","labels":{"A":"b"}'),
    list.replace('"username":"u"', '"username":"u","labels":{"a-":"b"}'),
    list.replace('"username":"u"', '"username":"u","labels":{}'),
  ]
  for (const text of notLists) {
    it(`takes ${text.slice(-40)} for no list`, () => assert.rejects(read(text), OtherAnswerError))
  }

  it('reports a list that ends too early, wherever it breaks off', async () => {
    for (let length = '{"configurations":['.length; length < list.length; length += 1) {
      const begun = list.slice(0, length)
      await assert.rejects(
        read(begun),
        (error) => error instanceof NoAnswerError && /ended too early/.test(error.message),
      )
    }
  })

  it('keeps no endless record in memory', async () => {
    let given = 0
    const piece = Buffer.alloc(64 * 1024, 'x')
    async function* endless() {
      yield Buffer.from('{"configurations":[{"name":"')
      for (;;) {
        given += piece.length
        yield piece
      }
    }
    const reading = async () => {
      for await (const _ of readRecords(endless(), 'here')) assert.fail('there is no record')
    }
    await assert.rejects(reading, OtherAnswerError)
    assert.ok(given < 2 * SERVED_RECORD_CHARACTERS_MAX)
  })
})
