import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { DamagedFileError } from '../../src/errors.ts'
import {
  readRecordDocument,
  type StateHeader,
  writeRecordDocument,
} from '../../src/storage/record-document.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { anyByteEdit, applyByteEdit } from '../support/properties/byte-edits.ts'
import { CASES, holdLaterFor } from '../support/properties/hold-property.ts'
import { anyLabels } from '../support/properties/labels.ts'
import { memoryFile } from '../support/properties/memory-files.ts'
import { anyText } from '../support/properties/texts.ts'

describe('a document of records', () => {
  const members = ['createdAt', 'x', '"]}']
  const kind = { format: 'connbook snapshot', version: 1, members, advice: 'no advice' }
  const fields = fc.record({
    name: anyText,
    hostname: anyText,
    port: fc.integer({ min: 1, max: 65_535 }),
    username: anyText,
    labels: fc.option(anyLabels, { nil: undefined }),
  })
  interface State {
    readonly store: string
    readonly revision: number
    readonly records: readonly Configuration[]
    readonly members: Readonly<Record<string, unknown>>
  }
  const states: fc.Arbitrary<State> = fc.record({
    store: anyText,
    revision: fc.nat(),
    records: fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fields), { maxLength: 3 }).map((some) => {
      let id = 0
      return some.map(([step, each]) => {
        id += step
        return new Configuration(id, each)
      })
    }),
    members: fc.dictionary(fc.constantFrom(...members), anyText, { maxKeys: 2 }),
  })

  async function write(
    { store, revision, records, members }: State,
    wrong: Partial<StateHeader> = {},
  ): Promise<Buffer> {
    const texts: string[] = []
    const lastId = records.at(-1)?.id ?? 0
    const header = { store, revision, lastId, count: records.length, ...wrong }
    await writeRecordDocument(kind, header, members, records, async (text) => {
      texts.push(text)
    })
    return Buffer.from(texts.join(''))
  }

  async function read(content: Buffer) {
    const texts: string[] = []
    let jsonBytes = 0
    const start = await readRecordDocument(kind, 'snapshot', memoryFile(content), (record, bytes) => {
      jsonBytes += bytes
      texts.push(record.json)
    })
    assert.equal(jsonBytes, Buffer.byteLength(texts.join('')))
    return { start, texts }
  }

  it('is read back as written, is JSON, and is refused with damage in any place', async (t) => {
    await holdLaterFor(t, fc.tuple(states, anyByteEdit), async ([state, edit]) => {
      const content = await write(state)
      const { start, texts } = await read(content)
      assert.deepEqual(
        texts,
        state.records.map(({ json }) => json),
      )
      assert.deepEqual(
        [start.store, start.revision, start.count, start.size],
        [state.store, state.revision, texts.length, content.length],
      )
      const { records, createdAt } = JSON.parse(content.toString())
      assert.deepEqual([records.length, createdAt], [texts.length, state.members.createdAt])

      const damaged = applyByteEdit(content, edit)
      if (!damaged.equals(content)) await assert.rejects(read(damaged), DamagedFileError)
    })
  })

  it('is refused with a header that does not fit, although its checksum is valid', async (t) => {
    const wrongs: readonly ((state: State) => Partial<StateHeader>)[] = [
      ({ records }) => ({ count: records.length + 1 }),
      ({ records }) => ({ count: records.length - 1 }),
      ({ records }) => ({ lastId: (records.at(-1)?.id ?? 0) - 1 }),
      () => ({ revision: 0.5 }),
      () => ({ revision: 2 ** 53 }),
      () => ({ lastId: Number.NaN }),
    ]
    const values = fc.tuple(states, fc.constantFrom(...wrongs))
    const assertRefused = async ([state, wrong]: [State, (typeof wrongs)[number]]) => {
      await assert.rejects(read(await write(state, wrong(state))), DamagedFileError)
    }
    await holdLaterFor(t, values, assertRefused, CASES / 10)
  })
})
