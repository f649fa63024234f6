import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { DamagedFileError } from '../../src/errors.ts'
import { createJsonDocument, seal } from '../../src/files/json-document.ts'
import { anyByteEdit, applyByteEdit } from '../support/properties/byte-edits.ts'
import { holdLaterFor } from '../support/properties/hold-property.ts'
import { createMemoryFiles } from '../support/properties/memory-files.ts'

describe('a small JSON file', () => {
  const SECRET = 'the secret that is in it'
  const files = createMemoryFiles()
  const document = createJsonDocument(
    '/data/accounts.json',
    { format: 'connbook accounts', version: 1, parse: (input) => input },
    'no advice',
    files,
  )

  it('is read back as it was written', async (t) => {
    await holdLaterFor(t, fc.jsonValue({ maxDepth: 1 }), async (content) => {
      await document.write(content)
      assert.deepEqual([...files.contents.keys()], ['accounts.json'])
      assert.equal(JSON.stringify(await document.read()), JSON.stringify(content))
    })
  })

  it('damaged in one place is refused without showing a secret, or has the same content', async (t) => {
    const contents = fc.record(
      { secret: fc.constant(SECRET), other: fc.constantFrom<unknown>(1, 'a', [], null, 1e21) },
      { noNullPrototype: true },
    )
    await holdLaterFor(t, fc.tuple(contents, anyByteEdit), async ([content, edit]) => {
      const text = `${JSON.stringify(seal({ format: 'connbook accounts', version: 1 }, content), null, 2)}\n`
      files.contents.set('accounts.json', applyByteEdit(Buffer.from(text), edit))
      try {
        assert.deepEqual(await document.read(), content)
      } catch (error) {
        if (!(error instanceof DamagedFileError)) throw error
        assert.equal(error.message.includes(SECRET.slice(0, 6)), false)
      }
    })
  })
})
