import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { forgetInitialCredentials } from '../../src/auth/initial-credentials.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { holdLaterFor } from '../support/properties/hold-property.ts'
import { createMemoryFiles } from '../support/properties/memory-files.ts'
import { odd } from '../support/properties/spoilt.ts'
import { anyText } from '../support/properties/texts.ts'

describe('the initial credentials', () => {
  it('lose only the lines of a changed account; a file of another form stays untouched', async (t) => {
    const name = fc.constantFrom('admin', 'default', '__proto__', '')
    const member = fc.oneof(
      { weight: 4, arbitrary: name as fc.Arbitrary<unknown> },
      { weight: 1, arbitrary: odd },
    )
    const content = fc.oneof(
      {
        weight: 5,
        arbitrary: fc
          .record(
            { username: member, password: member, client_id: member, client_secret: member, note: member },
            { requiredKeys: [], noNullPrototype: true },
          )
          .map((some) => JSON.stringify(some)),
      },
      { weight: 1, arbitrary: fc.oneof(anyText, fc.json({ maxDepth: 1 })) },
    )
    await holdLaterFor(
      t,
      fc.tuple(content, fc.constantFrom<'user' | 'client'>('user', 'client'), name),
      async ([text, kind, changed]) => {
        const files = createMemoryFiles()
        const before = Buffer.from(text)
        files.contents.set(dataFiles.initialCredentials, before)
        await forgetInitialCredentials(dataPaths('/data', files), kind, changed)
        const after = files.contents.get(dataFiles.initialCredentials)
        let input: Record<string, unknown> | undefined
        try {
          const parsed = JSON.parse(before.toString())
          if (Object.prototype.toString.call(parsed) === '[object Object]') input = parsed
        } catch {
          // Such a file must stay untouched.
        }
        const [nameMember, secretMember] =
          kind === 'user' ? ['username', 'password'] : ['client_id', 'client_secret']
        if (input === undefined || !Object.hasOwn(input, nameMember) || input[nameMember] !== changed) {
          assert.equal(after, before)
          return
        }
        const left = Object.entries(input).filter(([each]) => each !== nameMember && each !== secretMember)
        if (left.length === 0) assert.equal(after, undefined)
        else assert.deepEqual(JSON.parse(String(after)), Object.fromEntries(left))
      },
    )
  })
})
