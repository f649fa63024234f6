import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { DamagedFileError } from '../../src/errors.ts'
import { type JournalEnd, readJournal, readJournalHeader } from '../../src/journal/journal-reader.ts'
import { anyByteEdit, applyByteEdit } from '../support/properties/byte-edits.ts'
import { holdLaterFor } from '../support/properties/hold-property.ts'
import { memoryFile } from '../support/properties/memory-files.ts'
import { shortName } from '../support/properties/texts.ts'
import { encodeJournal } from './journal-place.ts'

const STORE = 'the store'
const batches = fc.array(
  fc.array(fc.oneof(shortName, fc.constantFrom('0badc0de 4 9 [1]', '\n')), { minLength: 1, maxLength: 3 }),
  {
    maxLength: 5,
  },
)

/** The header line and the frames of a journal. */
function encodeLines(changes: readonly (readonly string[])[], store = STORE): Buffer[] {
  const { header, frames } = encodeJournal(store, changes)
  return [header, ...frames]
}

interface Found {
  readonly changes: unknown[]
  readonly end: JournalEnd
}

/** The content of a journal, or why it is damaged. */
async function replay(content: Buffer, sizes?: readonly number[]): Promise<Found | DamagedFileError> {
  const changes: unknown[] = []
  try {
    const header = await readJournalHeader('journal', memoryFile(content, sizes), 1)
    assert.deepEqual(header, { store: STORE, after: 0, version: 1 })
    const end = await readJournal('journal', memoryFile(content, sizes), header, (change, revision) => {
      changes.push(change)
      assert.equal(revision, changes.length)
    })
    return { changes, end }
  } catch (error) {
    if (error instanceof DamagedFileError) return error
    throw error
  }
}

/** How much of a damaged journal is intact. */
function examine(lines: readonly Buffer[], content: Buffer) {
  let good = 0
  let size = 0
  for (const line of lines) {
    if (!content.subarray(size, size + line.length).equals(line)) break
    good += 1
    size += line.length
  }
  // The first missing line may be a torn tail; a whole line, or another line after it, proves damage.
  const behind = content.subarray(size).toString('latin1').split('\n').slice(0, -1)
  const later = lines.slice(good).some((bytes, i) => {
    const line = bytes.toString('latin1', 0, bytes.length - 1)
    return behind.some((text) => (i === 0 ? text === line : text.endsWith(line)))
  })
  return { good, size, later }
}

describe('a journal', () => {
  it('returns every change with its revision, however the reads are split', async (t) => {
    const readSizes = fc.constantFrom([1_000], [1_000], [1_000], [90, 200])
    await holdLaterFor(t, fc.tuple(batches, readSizes), async ([written, sizes]) => {
      const content = Buffer.concat(encodeLines(written))
      const found = await replay(content, sizes)
      assert.ok(!(found instanceof DamagedFileError))
      assert.deepEqual(found.changes, written.flat())
      const last = written.at(-1)?.length ?? 0
      const { size, revision, beforeLast, tornBytes } = found.end
      assert.deepEqual([size, tornBytes], [content.length, 0])
      assert.deepEqual([revision, beforeLast], [written.flat().length, written.flat().length - last])
    })
  })

  type Damage = (written: readonly (readonly string[])[]) => Buffer
  const anyEdit: fc.Arbitrary<Damage> = anyByteEdit.map((edit) => (written) => {
    return applyByteEdit(Buffer.concat(encodeLines(written)), edit)
  })
  const anyMove: fc.Arbitrary<Damage> = fc
    .tuple(fc.constantFrom('swap', 'double', 'lose', 'foreign'), fc.nat(), fc.nat())
    .map(([kind, at, to]) => (written) => {
      const [header = Buffer.alloc(0), ...frames] = encodeLines(written)
      const [from, target] = [at % (frames.length + 1), to % (frames.length + 1)]
      const [frame = Buffer.alloc(0)] = kind === 'double' ? [frames[from]] : frames.splice(from, 1)
      if (kind === 'swap' || kind === 'double') frames.splice(target, 0, frame)
      if (kind === 'foreign')
        frames.splice(from, 0, ...encodeLines(written, 'another store').slice(from + 1, from + 2))
      return Buffer.concat([header, ...frames])
    })

  /** Joins two lines. */
  const anyJoin: fc.Arbitrary<Damage> = fc
    .tuple(fc.nat(), fc.constantFrom('', ' ', '\0', 'x'))
    .map(([at, text]) => (written) => {
      const lines = encodeLines(written)
      const joint = at % lines.length
      return Buffer.concat(
        lines.map((line, i) =>
          i === joint ? Buffer.concat([line.subarray(0, -1), Buffer.from(text)]) : line,
        ),
      )
    })

  it('damaged in one place is refused at that place, or ends there when nothing valid follows', async (t) => {
    const damage = fc.oneof({ weight: 3, arbitrary: anyEdit }, anyMove, anyJoin)
    await holdLaterFor(t, fc.tuple(batches, damage), async ([written, apply]) => {
      const content = apply(written)
      const { good, size, later } = examine(encodeLines(written), content)
      const found = await replay(content)
      if (found instanceof DamagedFileError) {
        assert.equal(found.offset, size)
        assert.ok(good === 0 || content.length > size, 'nothing is damaged')
        return
      }
      assert.ok(good > 0, 'there is no header')
      assert.equal(later, false, 'a good line stands behind a bad one')
      assert.deepEqual(found.changes, written.slice(0, good - 1).flat())
      assert.deepEqual([found.end.size, found.end.tornBytes], [size, content.length - size])
    })
  })
})
