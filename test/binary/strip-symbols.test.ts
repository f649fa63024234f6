import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { stripSymbols } from '../../.build/strip-symbols.mjs'

const HEADER_BYTES = 64

/** An ELF64 file with these sections of 8 bytes behind its header. */
function makeElf(sections: readonly { readonly isLoaded: boolean }[]): Buffer {
  const file = Buffer.alloc(HEADER_BYTES + sections.length * 8 + (1 + sections.length) * 64)
  file.write('\x7fELF\x02\x01', 'latin1')
  const table = HEADER_BYTES + sections.length * 8
  file.writeBigUInt64LE(BigInt(table), 0x28)
  file.writeUInt16LE(64, 0x3a)
  file.writeUInt16LE(1 + sections.length, 0x3c)
  for (const [i, { isLoaded }] of sections.entries()) {
    const header = table + (1 + i) * 64
    file.fill(i + 1, HEADER_BYTES + i * 8, HEADER_BYTES + (i + 1) * 8)
    file.writeUInt32LE(1, header + 4)
    file.writeBigUInt64LE(isLoaded ? 2n : 0n, header + 8)
    file.writeBigUInt64LE(BigInt(HEADER_BYTES + i * 8), header + 0x18)
    file.writeBigUInt64LE(8n, header + 0x20)
  }
  return file
}

describe('stripSymbols', () => {
  it('keeps what is loaded, at the same offset, and removes the rest', () => {
    const file = makeElf([{ isLoaded: true }, { isLoaded: true }, { isLoaded: false }])
    const stripped = stripSymbols(file)
    const end = HEADER_BYTES + 16
    assert.ok(stripped.subarray(HEADER_BYTES, end).equals(file.subarray(HEADER_BYTES, end)))
    assert.ok(!stripped.includes(Buffer.alloc(8, 3)))
  })

  it('refuses a file with a loaded section behind one that is not loaded', () => {
    assert.throws(() => stripSymbols(makeElf([{ isLoaded: false }, { isLoaded: true }])), {
      message: 'Cannot strip Node: what is loaded does not come first in it',
    })
  })

  it('refuses a file that is not ELF64', () => {
    const message = 'Cannot strip Node: it is no ELF64 file'
    assert.throws(() => stripSymbols(Buffer.from('MZ'.padEnd(128, '\0'))), { message })
    const elf32 = makeElf([{ isLoaded: true }])
    elf32[4] = 1
    assert.throws(() => stripSymbols(elf32), { message })
  })
})
