import * as fc from 'fast-check'

/** How a file may be damaged in one place. */
export interface ByteEdit {
  readonly kind: 'flip' | 'cut' | 'insert' | 'remove' | 'append'
  /** Where, beyond the end as well: it is counted from the start again. */
  readonly at: number
  readonly bit: number
  readonly bytes: Uint8Array
}

export const anyByteEdit: fc.Arbitrary<ByteEdit> = fc.record({
  kind: fc.constantFrom('flip', 'flip', 'flip', 'cut', 'insert', 'remove', 'append'),
  at: fc.nat({ max: 999_999 }),
  bit: fc.nat({ max: 7 }),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 12 }),
    fc
      .constantFrom('\n', '\n\n', ' ', '0', 'x\n', '}', ']', '\0'.repeat(40))
      .map((text) => Buffer.from(text)),
  ),
})

/** @returns Never the same bytes. */
export function applyByteEdit(original: Buffer, { kind, at, bit, bytes }: ByteEdit): Buffer {
  const index = at % original.length
  const before = original.subarray(0, index)
  if (kind === 'cut') return before
  if (kind === 'append') return Buffer.concat([original, bytes])
  if (kind === 'insert') return Buffer.concat([before, bytes, original.subarray(index)])
  if (kind === 'remove') return Buffer.concat([before, original.subarray(index + 1)])
  const flipped = Buffer.from(original)
  flipped.writeUInt8(flipped.readUInt8(index) ^ (1 << bit), index)
  return flipped
}
