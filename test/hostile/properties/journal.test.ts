import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { DamagedFileError } from '../../../src/errors.ts'
import { forEachLine } from '../../../src/files/lines.ts'
import { encodeFrame, parseFrame } from '../../../src/journal/frame.ts'
import { type JournalEnd, readJournal, readJournalHeader } from '../../../src/journal/journal-reader.ts'
import { type Change, parseChange } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { encodeJournal } from '../../support/encoded-journal.ts'
import { anyByteEdit, applyByteEdit } from './byte-edits.ts'
import { holdFor, holdLaterFor } from './hold-property.ts'
import { memoryFile } from './memory-file.ts'
import { anyText, shortName } from './texts.ts'

describe('reading lines', () => {
  it('gives what stands between newlines, in whatever pieces the bytes come', async (t) => {
    const bytes = fc.array(
      fc.oneof(
        { weight: 3, arbitrary: fc.nat({ max: 255 }) },
        { weight: 2, arbitrary: fc.constantFrom(0x0a, 0x0d, 0x00) },
      ),
      { maxLength: 40 },
    )
    const readSizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 })
    await holdLaterFor(t, fc.tuple(bytes, readSizes), async ([some, sizes]) => {
      const content = Buffer.from(some)
      const found: [text: string, offset: number, isWhole: boolean][] = []
      await forEachLine(memoryFile(content, sizes), (line, offset, isWhole) => {
        found.push([line.toString('latin1'), offset, isWhole])
      })
      const texts = content.toString('latin1').split('\n')
      const rest = texts.pop() ?? ''
      let offset = 0
      const expected = texts.map((text) => {
        offset += text.length + 1
        return [text, offset - text.length - 1, true]
      })
      if (rest !== '') expected.push([rest, offset, false])
      assert.deepEqual(found, expected)
    })
  })
})

const json = fc.oneof(
  fc.constantFrom('[]', '["a"]', '["\\n"]', '[1, "0badc0de 4 9 [1]"]'),
  fc.array(anyText, { maxLength: 3 }).map((changes) => JSON.stringify(changes)),
)
const checksum = fc.integer({ min: 0, max: 2 ** 32 - 1 })

describe('a frame', () => {
  it('holds what was put into it, and fits behind its predecessor and no other line', (t) => {
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

  it('is none any more, or does not fit, with a change in any place', (t) => {
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

/** What a journal holds, or why it cannot be believed. */
async function replay(content: Buffer, sizes?: readonly number[]): Promise<Found | DamagedFileError> {
  const changes: unknown[] = []
  try {
    const header = await readJournalHeader('journal', memoryFile(content, sizes))
    assert.deepEqual(header, { store: STORE, after: 0 })
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

/** What is left of a journal that was damaged. */
function examine(lines: readonly Buffer[], content: Buffer) {
  let good = 0
  let size = 0
  for (const line of lines) {
    if (!content.subarray(size, size + line.length).equals(line)) break
    good += 1
    size += line.length
  }
  // The first line that is not there may be half-written; whole, or with another behind it, it proves damage.
  const behind = content.subarray(size).toString('latin1').split('\n').slice(0, -1)
  const later = lines.slice(good).some((bytes, i) => {
    const line = bytes.toString('latin1', 0, bytes.length - 1)
    return behind.some((text) => (i === 0 ? text === line : text.endsWith(line)))
  })
  return { good, size, later }
}

describe('a journal', () => {
  it('gives back every change with its revision, in whatever pieces it is read', async (t) => {
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

  /** Two lines become one. */
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

  it('damaged in one place is refused at that place, or ends there when nothing good is behind', async (t) => {
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

describe('a change', () => {
  const fields = fc.record({ name: anyText, hostname: anyText, port: fc.integer(), username: anyText })
  const record = fc
    .tuple(fc.integer({ min: 1, max: 2 ** 53 - 1 }), fields)
    .map(([id, some]) => new Configuration(id, some))
  const change: fc.Arbitrary<Change> = fc.oneof(
    record.map((add) => ({ add })),
    fc.tuple(record, anyText).map(([modify, name]) => ({ modify, name })),
    anyText.map((remove) => ({ remove })),
  )

  it('is read back as it was written', (t) => {
    holdFor(t, change, (written) => {
      const text = JSON.stringify(written)
      assert.equal(JSON.stringify(parseChange(JSON.parse(text))), text)
    })
  })

  it('is none with a member missing or of another kind, and never more than stands there', (t) => {
    const odd = fc.constantFrom<unknown>(null, 0, -1, 1.5, 2 ** 53, '1', true, [], {}, { id: 1 }, undefined)
    const values = fc.tuple(
      change,
      fc.constantFrom('add', 'modify', 'name', 'id', 'hostname', 'port', 'username'),
      odd,
    )
    holdFor(t, values, ([written, member, value]) => {
      const input = JSON.parse(JSON.stringify(written))
      const holder = input.add ?? input.modify
      const spoilt = Object.hasOwn(input, member) ? input : holder
      if (spoilt === undefined || !Object.hasOwn(spoilt, member)) return
      const isSame =
        typeof spoilt[member] === typeof value &&
        (typeof value === 'string' || (member === 'port' && typeof value === 'number'))
      if (isSame || (member === 'id' && value === 1)) return
      if (value === undefined) delete spoilt[member]
      else spoilt[member] = value
      // A text for a record is none, and neither is a record for a text.
      assert.throws(() => parseChange(input), SyntaxError, JSON.stringify(input))
    })
  })

  it('is nothing else of JSON', (t) => {
    holdFor(t, fc.jsonValue({ maxDepth: 2 }), (input) => assert.throws(() => parseChange(input), SyntaxError))
  })
})
