import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readLines } from '../../src/cluster/http-client.ts'

const text = '{"result":{"a":"ü"}}\n{}\n{"error":"no newline behind it"}'

async function linesOf(...pieces: Buffer[]): Promise<string[]> {
  const arriving = async function* () {
    yield* pieces
  }
  const lines: string[] = []
  for await (const line of readLines(arriving())) lines.push(line)
  return lines
}

describe('the lines of a stream', () => {
  it('are the same wherever it is split', async () => {
    const bytes = Buffer.from(text)
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
        assert.deepEqual(await linesOf(...pieces), text.split('\n'), `${first}, ${second}`)
      }
    }
  })

  it('are the same byte by byte, and none of an empty stream', async () => {
    const bytes = [...Buffer.from(text)].map((byte) => Buffer.of(byte))
    assert.deepEqual(await linesOf(...bytes), text.split('\n'))
    assert.deepEqual(await linesOf(), [])
    assert.deepEqual(await linesOf(Buffer.from('{}\n')), ['{}'])
  })
})
