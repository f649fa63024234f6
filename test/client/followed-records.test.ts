import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readEvents } from '../../src/client/followed-records.ts'
import { OtherAnswerError } from '../../src/client/refused.ts'
import { SERVED_RECORD_CHARACTERS_MAX } from '../../src/limits.ts'

async function* cut(text: string, length: number) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function read(text: string, length = Number.MAX_SAFE_INTEGER) {
  const found = []
  for await (const event of readEvents(cut(text, length))) found.push(event)
  return found
}

const event = (kind: string | undefined, data: string, id: string | undefined, retryMs?: number) => ({
  event: kind,
  data,
  id,
  retryMs,
})

describe('readEvents', () => {
  it('reads events, ids and the pause of a stream that is cut anywhere', async () => {
    const text =
      'retry: 2000\nid: t-1\n\nevent: added\nid: t-2\ndata: {"é":1}\n\n:\n\nevent: removed\ndata:a\ndata: b\n\n'
    const expected = [
      event(undefined, '', 't-1', 2_000),
      event('added', '{"é":1}', 't-2'),
      event(undefined, '', 't-2'),
      event('removed', 'a\nb', 't-2'),
    ]
    for (let length = 1; length <= Buffer.byteLength(text); length += 1)
      assert.deepEqual(await read(text, length), expected)
  })

  it('takes other ends of lines, unknown fields and fields without a value as the standard says', async () => {
    assert.deepEqual(await read('event: x\r\ndata: y\r\n\r\n'), [event('x', 'y', undefined)])
    assert.deepEqual(await read('data\nother: z\nretry: soon\n\n'), [event('message', '', undefined)])
    assert.deepEqual(await read('data: a: b\n\n'), [event('message', 'a: b', undefined)])
  })

  it('drops an event that has not ended', async () => {
    assert.deepEqual(await read('event: added\ndata: {}\n'), [])
  })

  it('keeps no endless line in memory', async () => {
    await assert.rejects(
      read(`data: ${'x'.repeat(SERVED_RECORD_CHARACTERS_MAX + 1)}`, 64 * 1024),
      OtherAnswerError,
    )
  })
})
