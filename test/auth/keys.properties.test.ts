import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { readKeys, toSigningKey } from '../../src/auth/keys.ts'
import { signToken, verifyToken } from '../../src/auth/signed-token.ts'
import { DamagedFileError } from '../../src/errors.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { seal } from '../../src/files/json-document.ts'
import { KEYS_MAX } from '../../src/limits.ts'
import { holdLaterFor } from '../support/properties/hold-property.ts'
import { createMemoryFiles } from '../support/properties/memory-files.ts'
import { hasOnly, odd, spoilt } from '../support/properties/spoilt.ts'
import { anyText } from '../support/properties/texts.ts'

const folder = dataPaths('/data')

describe('signing keys', () => {
  const files = createMemoryFiles()
  const claims = { iss: 'connbook', sub: 'a', aud: 'api', iat: 1, exp: 2, jti: 'j', gen: 1 } as const
  const secret = fc
    .uint8Array({ minLength: 31, maxLength: 33 })
    .map((bytes) => Buffer.from(bytes).toString('base64url'))
  const times = ['created', 'ttl', 'serverTtl', 'until'] as const
  /** The latest time that a Date can hold. */
  const lastMoment = 8.64e12
  const time = fc.oneof(
    { weight: 8, arbitrary: fc.nat() },
    { weight: 1, arbitrary: fc.constantFrom(0, lastMoment, lastMoment + 1, -1, 0.5, 2 ** 53, 1e21) },
  )
  const key = fc.record(
    { id: anyText, secret, created: time, ttl: time, serverTtl: time, until: time },
    { requiredKeys: ['id', 'secret'], noNullPrototype: true },
  )
  const signing = key.map(({ until: _, ...others }) => others)
  const good = { id: 'k', secret: 'A'.repeat(43) }
  const entry = fc.oneof(
    { weight: 8, arbitrary: key },
    { weight: 1, arbitrary: spoilt(key, ['id', 'secret', ...times]) },
    { weight: 1, arbitrary: odd },
  )
  const keys = fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .tuple(
          fc.oneof({ weight: 3, arbitrary: signing }, { weight: 1, arbitrary: entry }),
          fc.array(entry, { maxLength: 2 }),
        )
        .map(([first, others]) => [first, ...others]),
    },
    { weight: 1, arbitrary: fc.array(entry, { maxLength: 1 }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(entry, fc.integer({ min: KEYS_MAX - 2, max: KEYS_MAX + 1 }))
        .map(([last, length]) => [...Array(length).fill(good), last]),
    },
  )

  it('sign and verify if all are valid and the first may sign, and are damage otherwise', async (t) => {
    const inputs = fc.oneof({ weight: 16, arbitrary: keys }, { weight: 1, arbitrary: odd })
    await holdLaterFor(t, inputs, async (input) => {
      files.contents.set(
        dataFiles.keys,
        Buffer.from(JSON.stringify(seal({ format: 'connbook keys', version: 1 }, input))),
      )
      const isTime = (value: unknown) =>
        value === undefined || (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= lastMoment)
      const isKey = (each: unknown) => {
        const { id, secret: encoded, ...others } = Object(each)
        return (
          hasOnly(Object(each), ['id', 'secret', ...times]) &&
          typeof id === 'string' &&
          typeof encoded === 'string' &&
          Buffer.from(encoded, 'base64url').length === 32 &&
          times.every((name) => isTime(others[name]))
        )
      }
      const isGood =
        Array.isArray(input) &&
        input.length <= KEYS_MAX &&
        input.every(isKey) &&
        (input.length === 0 || !Object.hasOwn(input[0], 'until'))
      const reading = readKeys({ ...folder, files }, true)
      if (!isGood) {
        await assert.rejects(reading, DamagedFileError)
        return
      }
      const found = await reading
      assert.deepEqual(found, input)
      const all = found.map(toSigningKey)
      for (const each of all) {
        // The first of two keys with one id counts.
        const isFirst = all.find(({ header }) => header === each.header) === each
        if (isFirst) assert.deepEqual(verifyToken(signToken(claims, each), all), claims)
      }
    })
  })
})
