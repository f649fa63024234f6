import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { checkSecret, readSecret } from '../../src/auth/secret.ts'
import { UsageError } from '../../src/errors.ts'
import { PASSWORD_BYTES_MAX } from '../../src/limits.ts'
import { holdFor, holdLaterFor } from '../support/properties/hold-property.ts'
import { anyText } from '../support/properties/texts.ts'

/** What is left of a text without a mark and a line end. */
function lineOf(text: string): string {
  const unmarked = text.startsWith('\ufeff') ? text.slice(1) : text
  if (unmarked.endsWith('\r\n')) return unmarked.slice(0, -2)
  return unmarked.endsWith('\n') ? unmarked.slice(0, -1) : unmarked
}

describe('a secret from outside', () => {
  it('is the text without a mark at its beginning and its last newline, or is refused as too long or not UTF-8', async (t) => {
    const bytes = fc.oneof(
      {
        weight: 4,
        arbitrary: fc
          .tuple(fc.constantFrom('', '\ufeff'), anyText, fc.constantFrom('', '\n', '\r\n', '\n\n', '\r'))
          .map((parts) => Buffer.from(parts.join(''))),
      },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 8 }).map((some) => Buffer.from(some)) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(
            fc.integer({ min: PASSWORD_BYTES_MAX - 2, max: PASSWORD_BYTES_MAX + 4 }),
            fc.constantFrom('', '\n', '\r\n'),
          )
          .map(([length, end]) => Buffer.from('x'.repeat(length) + end)),
      },
    )
    await holdLaterFor(t, fc.tuple(bytes, fc.nat()), async ([content, cut]) => {
      const at = cut % (content.length + 1)
      const source = Readable.from([content.subarray(0, at), content.subarray(at)])
      const text = content.toString('utf8')
      const secret = lineOf(text)
      const isGood = Buffer.from(text).equals(content) && Buffer.byteLength(secret) <= PASSWORD_BYTES_MAX
      const reading = readSecret('it', source)
      if (isGood) assert.equal(await reading, secret)
      else await assert.rejects(reading, UsageError)
    })
  })

  it('from a variable is accepted in the same way, or refused', (t) => {
    holdFor(
      t,
      fc.oneof(
        anyText,
        fc.integer({ min: 1020, max: 1030 }).map((length) => 'x'.repeat(length)),
      ),
      (text) => {
        const isGood = !text.includes('\ufffd') && Buffer.byteLength(lineOf(text)) <= PASSWORD_BYTES_MAX
        if (isGood) assert.equal(checkSecret('it', text), lineOf(text))
        else assert.throws(() => checkSecret('it', text), UsageError)
      },
    )
  })
})
