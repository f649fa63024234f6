import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { encodeFrame, parseFrame } from '../../src/journal/frame.ts'
import { anyByteEdit, applyByteEdit } from '../support/properties/byte-edits.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anyText } from '../support/properties/texts.ts'

const json = fc.oneof(
  fc.constantFrom('[]', '["a"]', '["\\n"]', '[1, "0badc0de 4 9 [1]"]'),
  fc.array(anyText, { maxLength: 3 }).map((changes) => JSON.stringify(changes)),
)
const checksum = fc.integer({ min: 0, max: 2 ** 32 - 1 })

describe('a frame', () => {
  it('holds what was put into it, and fits only after its predecessor', (t) => {
    const values = fc.tuple(checksum, checksum, fc.integer({ min: 0, max: 2 ** 53 - 1 }), json)
    holdFor(t, values, ([previous, other, firstRevision, text]) => {
      const { crc, bytes } = encodeFrame(previous, firstRevision, text)
      assert.equal(bytes.indexOf('\n'), bytes.length - 1)
      const frame = parseFrame(bytes.subarray(0, -1)) ?? assert.fail('it is no frame')
      assert.equal(frame.json.toString(), text)
      assert.deepEqual(
        [frame.firstRevision, frame.storedCrc, frame.crcAfter(previous)],
        [firstRevision, crc, crc],
      )
      assert.equal(frame.crcAfter(other) === crc, other === previous)
    })
  })

  it('is invalid, or does not fit, after a change in any place', (t) => {
    const values = fc.tuple(checksum, fc.nat(), json, anyByteEdit)
    holdFor(t, values, ([previous, firstRevision, text, edit]) => {
      const whole = encodeFrame(previous, firstRevision, text).bytes.subarray(0, -1)
      const edited = applyByteEdit(whole, edit)
      if (edited.equals(whole)) return
      const frame = parseFrame(edited)
      assert.notEqual(frame?.crcAfter(previous), frame?.storedCrc ?? Number.NaN)
    })
  })
})
