import { crc32 } from 'node:zlib'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { encodeFrame } from '../../../src/journal/frame.ts'
import { lineOffsets } from '../../support/folder-image.ts'
import type { Random } from '../../support/random.ts'

/** A damaged file. */
export interface Damage {
  readonly name: string
  readonly bytes: Buffer
}

const WIPED_BYTES = 512
const HUGE_LENGTH = '9999999999'

/** The files of a data folder that may be damaged. */
export const files = [
  dataFiles.journal,
  dataFiles.journalOld,
  dataFiles.snapshot,
  dataFiles.accounts,
  dataFiles.keys,
  dataFiles.revocations,
]

/** `count` of the integers from 0 to below `end`; all of them if there are no more. */
export function sample(end: number, count: number, random: Random): number[] {
  if (end <= count) return Array.from({ length: end }, (_, i) => i)
  const chosen = new Set<number>()
  while (chosen.size < count) chosen.add(random.integer(0, end - 1))
  return [...chosen].sort((a, b) => a - b)
}

/** The file cut off, at `count` of its lengths. */
export function* cuts(bytes: Buffer, count: number, random: Random): Generator<Damage> {
  for (const length of sample(bytes.length, count, random)) {
    yield { name: `cut at byte ${length}`, bytes: bytes.subarray(0, length) }
  }
}

/** A random bit flipped, in `count` of the bytes. */
export function* bitFlips(bytes: Buffer, count: number, random: Random): Generator<Damage> {
  for (const offset of sample(bytes.length, count, random)) {
    const bit = random.integer(0, 7)
    const flipped = Buffer.from(bytes)
    flipped.writeUInt8(flipped.readUInt8(offset) ^ (1 << bit), offset)
    yield { name: `bit ${bit} of byte ${offset} flipped`, bytes: flipped }
  }
}

/** Bytes inserted or removed, at `count` places each; a removal is within the last line or within what is before it. */
export function* shifts(bytes: Buffer, count: number, random: Random): Generator<Damage> {
  const last = lineOffsets(bytes).at(-2) ?? 0
  for (const offset of sample(bytes.length + 1, count, random)) {
    const more = random.pick(['\0', '\n', ' ', '0', ']', 'garbage \u00ff', '\0'.repeat(600)])
    yield {
      name: `${JSON.stringify(more.slice(0, 9))} put in at byte ${offset}`,
      bytes: splice(bytes, offset, 0, more),
    }
  }
  for (const offset of sample(bytes.length, count, random)) {
    // lossesUpToLastLine covers removals that include the newline before the last line.
    const end = offset < last - 1 ? last - 1 : bytes.length
    const gone = random.integer(1, Math.min(200, end - offset))
    yield { name: `${gone} bytes gone from byte ${offset}`, bytes: splice(bytes, offset, gone, '') }
  }
}

/** Lines swapped, removed, repeated or overwritten; if several are damaged, the last line is intact. */
export function* wrongLines(bytes: Buffer): Generator<Damage> {
  const offsets = lineOffsets(bytes)
  const lines = offsets.slice(0, -1).map((offset, i) => bytes.subarray(offset, offsets[i + 1]))
  const last = offsets.at(-2) ?? 0
  for (const [i, line] of lines.entries()) {
    const [offset = 0, end = 0] = offsets.slice(i)
    const next = lines[i + 1]
    yield { name: `line ${i} lost`, bytes: splice(bytes, offset, line.length, '') }
    yield { name: `line ${i} doubled`, bytes: splice(bytes, end, 0, line) }
    yield { name: `line ${i} once more at the end`, bytes: Buffer.concat([bytes, line]) }
    if (next !== undefined) {
      const swapped = Buffer.concat([next, line])
      yield { name: `lines ${i} and ${i + 1} swapped`, bytes: splice(bytes, offset, swapped.length, swapped) }
    }
    for (const from of [offset, Math.floor((offset + end) / 2)]) {
      const length = Math.min(WIPED_BYTES, last - 1 - from)
      if (length > 0) yield wipe(bytes, from, length)
    }
    const frameLength = /^[0-9a-f]{8} (\d+) /.exec(line.toString('latin1'))?.[1]
    if (frameLength !== undefined) {
      const huge = splice(bytes, offset + 9, frameLength.length, HUGE_LENGTH)
      yield { name: `a huge length in line ${i}`, bytes: huge }
    }
  }
}

/** Bytes overwritten or removed from the start or middle of a line up to the last line, which is intact. */
export function* lossesUpToLastLine(bytes: Buffer): Generator<Damage> {
  const offsets = lineOffsets(bytes)
  const last = offsets.at(-2) ?? 0
  for (const [i, offset] of offsets.slice(1, -2).entries()) {
    yield wipe(bytes, offset, last - offset)
    const middle = Math.floor((offset + (offsets[i + 2] ?? last)) / 2)
    yield { name: `bytes ${middle} to ${last} gone`, bytes: splice(bytes, middle, last - middle, '') }
  }
}

function wipe(bytes: Buffer, from: number, length: number): Damage {
  const wiped = splice(bytes, from, length, Buffer.alloc(length))
  return { name: `NULs over ${length} bytes from byte ${from}`, bytes: wiped }
}

/** Bytes appended to the file. */
export function* appendices(bytes: Buffer): Generator<Damage> {
  const more = { 'a newline': '\n', NULs: '\0'.repeat(4096), garbage: 'garbage \u00ff {"', text: '{}\n' }
  for (const [name, appended] of Object.entries(more)) {
    yield { name: `${name} behind the end`, bytes: Buffer.concat([bytes, Buffer.from(appended)]) }
  }
  yield { name: 'the whole file twice', bytes: Buffer.concat([bytes, bytes]) }
}

/** The same file as a later version of the program could write it, with a checksum that fits. */
export function newerVersion(bytes: Buffer): Buffer {
  const text = bytes.toString('utf8')
  const header = /^[0-9a-f]{8} \d+ (\d+) (.*)\n/.exec(text)
  if (header?.[1] === undefined || header[2] === undefined) {
    const newer = text.replace(/"version": ?\d/, '"version":3')
    const records = /^.*\n(?=\],"checksum":")/s.exec(newer)?.[0]
    return Buffer.from(records === undefined ? newer : sealRecords(records))
  }
  const frame = encodeFrame(0, Number(header[1]), header[2].replace(/"journal":\d/, '"journal":5'))
  return splice(bytes, 0, header[0].length, frame.bytes)
}

/** The end of a document of records behind what its checksum covers. */
function sealRecords(covered: string): string {
  return `${covered}],"checksum":"${crc32(covered).toString(16).padStart(8, '0')}"}\n`
}

function splice(bytes: Buffer, offset: number, removed: number, inserted: string | Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, offset), Buffer.from(inserted), bytes.subarray(offset + removed)])
}
