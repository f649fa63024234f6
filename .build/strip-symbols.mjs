/**
 * Removes from a 64-bit ELF file what is never loaded: symbols, debugging information, comments. The same input gives
 * the same output on every machine.
 *
 * @type {(file: Buffer) => Buffer}
 * @see https://gabi.xinuos.com/elf/03-sheader.html
 */
export function stripSymbols(file) {
  const [HEADER_BYTES, SECTION_BYTES, SHF_ALLOC, SHT_STRTAB, SHT_NOBITS] = [64, 64, 2n, 3, 8]
  const isElf64 = file.readUInt32BE(0) === 0x7f454c46 && file[4] === 2 && file[5] === 1
  if (!isElf64 || file.readUInt16LE(0x3a) !== SECTION_BYTES)
    throw new Error('Cannot strip Node: it is no ELF64 file')
  const start = Number(file.readBigUInt64LE(0x28))
  const sections = Array.from({ length: file.readUInt16LE(0x3c) }, (_, i) => {
    const header = Buffer.from(file.subarray(start + i * SECTION_BYTES, start + (i + 1) * SECTION_BYTES))
    const [offset, size] = [Number(header.readBigUInt64LE(0x18)), Number(header.readBigUInt64LE(0x20))]
    const end = offset + (header.readUInt32LE(4) === SHT_NOBITS ? 0 : size)
    return { header, offset, end, isLoaded: i === 0 || (header.readBigUInt64LE(8) & SHF_ALLOC) !== 0n }
  })
  const kept = sections.filter(({ isLoaded }) => isLoaded)
  const dropped = sections.slice(kept.length)
  const end = Math.max(HEADER_BYTES, ...kept.map((section) => section.end))
  // With what is loaded first, section numbers and file offsets stay the same.
  if (dropped.some(({ isLoaded, offset }) => isLoaded || offset < end))
    throw new Error('Cannot strip Node: what is loaded does not come first in it')
  const oldNames = sections[file.readUInt16LE(0x3e)]?.offset ?? 0
  let names = '\0'
  for (const { header } of kept.slice(1)) {
    const at = oldNames + header.readUInt32LE(0)
    header.writeUInt32LE(names.length, 0)
    names += `${file.toString('latin1', at, file.indexOf(0, at))}\0`
  }
  const ofNames = Buffer.alloc(SECTION_BYTES)
  ofNames.writeUInt32LE(names.length, 0)
  names += '.shstrtab\0'
  ofNames.writeUInt32LE(SHT_STRTAB, 4)
  ofNames.writeBigUInt64LE(BigInt(end), 0x18)
  ofNames.writeBigUInt64LE(BigInt(names.length), 0x20)
  ofNames.writeBigUInt64LE(1n, 0x30)
  const padding = Buffer.alloc(-(end + names.length) & 7)
  const head = Buffer.from(file.subarray(0, HEADER_BYTES))
  head.writeBigUInt64LE(BigInt(end + names.length + padding.length), 0x28)
  head.writeUInt16LE(kept.length + 1, 0x3c)
  head.writeUInt16LE(kept.length, 0x3e)
  const body = file.subarray(HEADER_BYTES, end)
  return Buffer.concat([
    head,
    body,
    Buffer.from(names, 'latin1'),
    padding,
    ...kept.map(({ header }) => header),
    ofNames,
  ])
}
