import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { DamagedFileError, NewerFormError } from '../../src/errors.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { encodeFrame } from '../../src/journal/frame.ts'
import { openJournalFile } from '../../src/journal/journal-file.ts'
import { createMemoryFiles } from '../support/properties/memory-files.ts'
import { batches, before, encodeJournal, frames, header, journalFile, last } from './journal-place.ts'

function damagedAt(offset: number) {
  return (error: unknown) => {
    assert.ok(error instanceof DamagedFileError, String(error))
    assert.equal(error.offset, offset)
    return true
  }
}

/** One of so many files with a flipped bit is on a disk; the others are in memory. */
const ON_DISK_BITS = 31

function* bitFlips(bytes: Buffer): Generator<{ bit: number; flipped: Buffer }> {
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const flipped = Buffer.from(bytes)
    flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    yield { bit, flipped }
  }
}

/** The changes in a journal of these parts. */
async function readFromMemory(...parts: Buffer[]): Promise<unknown[]> {
  const files = createMemoryFiles()
  files.contents.set('journal.jsonl', Buffer.concat(parts))
  const journal = (await openJournalFile('/journal.jsonl', files, 1, 'r')) ?? assert.fail('it is not there')
  const found: unknown[] = []
  await journal.read((change) => found.push(change))
  return found
}

describe('a journal of a newer connbook', () => {
  const newer = encodeJournal('this store', [['a'], ['b']])
  /** A header with a valid checksum. */
  const headed = (content: object) => encodeFrame(0, 0, JSON.stringify([content])).bytes
  const wrong: Record<string, [content: object, said: RegExp]> = {
    'of another version': [
      { journal: 2, store: 'this store' },
      /: journal version 2 is unknown to this program, which reads 1, at byte 0; use the connbook that wrote it/,
    ],
    'of another version in another form': [{ journal: 2, stores: [] }, /journal version 2 is unknown/],
    'with an unknown member': [
      { journal: 1, store: 'this store', cluster: 'c' },
      /written by a newer connbook: the member "cluster" of the header is unknown to this program at byte 0; use/,
    ],
  }
  for (const [what, [content, said]] of Object.entries(wrong)) {
    it(`${what} in its header is refused`, async (t) => {
      const journal = await journalFile(t)
      await journal.write(headed(content))
      await assert.rejects(journal.replay(), said)
    })
  }

  for (const journal of [0, 1.5, '2', null, undefined]) {
    it(`is not assumed when the header has version ${JSON.stringify(journal)}: that is damage`, async (t) => {
      const file = await journalFile(t)
      await file.write(headed({ journal, store: 'this store' }))
      await assert.rejects(file.replay(), /the header has no valid version at byte 0/)
    })
  }

  it('is refused when its last frame is of an unknown kind, and nothing is cut off', async (t) => {
    const { path, write, tornFiles } = await journalFile(t)
    await write(newer.header, ...newer.frames)
    const bytes = await readFile(path)
    const journal = (await openJournalFile(path, realFileSystem, 1)) ?? assert.fail('it is not there')
    t.after(() => journal.close())
    const refuse = (change: unknown) => {
      if (change === 'b') throw new NewerFormError('the change "b"')
    }
    await assert.rejects(journal.read(refuse), (error) => {
      const offset = newer.header.length + (newer.frames[0]?.length ?? 0)
      damagedAt(offset)(error)
      assert.match(
        String(error),
        /written by a newer connbook: .* at byte \d+; use the connbook that wrote it/,
      )
      assert.doesNotMatch(String(error), /truncate|does not fit/)
      return true
    })
    assert.deepEqual(await readFile(path), bytes)
    assert.deepEqual(await tornFiles(), [])
  })
})

describe('a damaged journal', () => {
  it('stops the start for any bit flipped before the last frame, and is left unchanged', async (t) => {
    const journal = await journalFile(t)
    for (const { bit, flipped } of bitFlips(before)) {
      await assert.rejects(readFromMemory(flipped, last), DamagedFileError, `bit ${bit}`)
      if (bit % ON_DISK_BITS > 0) continue
      await journal.write(flipped, last)
      await assert.rejects(journal.replay(), DamagedFileError, `bit ${bit}`)
      assert.deepEqual(await journal.tornFiles(), [])
      assert.deepEqual(await readFile(journal.path), Buffer.concat([flipped, last]))
    }
  })

  it('never returns anything that was not written when a bit of the last frame is flipped', async (t) => {
    const journal = await journalFile(t)
    const written = batches.slice(0, -1).flat()
    const orDamage = (error: unknown) => {
      if (!(error instanceof DamagedFileError)) throw error
      return written
    }
    for (const { bit, flipped } of bitFlips(last)) {
      assert.deepEqual(await readFromMemory(before, flipped).catch(orDamage), written, `bit ${bit}`)
      if (bit % ON_DISK_BITS > 0) continue
      await journal.write(before, flipped)
      assert.deepEqual(await journal.replay().catch(orDamage), written, `bit ${bit}`)
    }
  })

  const [a, b, c, d, e] = frames as [Buffer, Buffer, Buffer, Buffer, Buffer]
  const other = encodeJournal('another store', batches).frames as [Buffer, Buffer, Buffer, Buffer, Buffer]
  const nul = Buffer.alloc(d.length)
  const huge = Buffer.from(d.toString().replace(/ \d+ /, ' 9999999999 '))
  const cases: { name: string; written: Buffer[]; good: Buffer[] }[] = [
    { name: 'the first frame missing', written: [b, c, d, e], good: [] },
    { name: 'a middle frame missing', written: [a, b, d, e], good: [a, b] },
    { name: 'the second to last frame missing', written: [a, b, c, e], good: [a, b, c] },
    { name: 'the first frames swapped', written: [b, a, c, d, e], good: [] },
    { name: 'the last frames swapped', written: [a, b, c, e, d], good: [a, b, c] },
    { name: 'a frame doubled in the middle', written: [a, b, b, c, d, e], good: [a, b] },
    { name: 'the second to last frame doubled', written: [a, b, c, d, d, e], good: [a, b, c, d] },
    { name: 'garbage between frames', written: [a, Buffer.from('garbage\n\n'), b, c, d, e], good: [a] },
    {
      name: 'the second to last frame lost to NULs',
      written: [a, b, c, nul, Buffer.from('\n'), e],
      good: [a, b, c],
    },
    { name: 'a huge length', written: [a, b, c, huge, e], good: [a, b, c] },
    { name: 'a frame of another journal in the middle', written: [a, other[1], c, d, e], good: [a] },
  ]
  for (const { name, written, good } of cases) {
    it(`stops the start with the offset of ${name}`, async (t) => {
      const journal = await journalFile(t)
      await journal.write(header, ...written)
      const offset = Buffer.concat([header, ...good]).length
      await assert.rejects(journal.replay(), damagedAt(offset))
      assert.deepEqual(await journal.tornFiles(), [])
    })
  }

  it('stops the start when a change in a valid frame is refused', async (t) => {
    const { path, write } = await journalFile(t)
    await write(before, last)
    const journal = await openJournalFile(path, realFileSystem, 1)
    const refuse = (change: unknown) => {
      if (change === 'c') throw new Error('no')
    }
    const offset = Buffer.concat([header, a, b]).length
    await assert.rejects(journal?.read(refuse) ?? Promise.resolve(), damagedAt(offset))
    await journal?.close()
  })
})

describe('a journal header', () => {
  const newer = encodeFrame(0, 0, JSON.stringify([{ journal: 2, store: 'this store' }])).bytes
  const cases = {
    'no bytes': Buffer.alloc(0),
    'half a header': header.subarray(0, 20),
    'no newline': header.subarray(0, -1),
    NULs: Buffer.alloc(4096),
    'no store': encodeFrame(0, 0, '[{"journal":1}]').bytes,
    'no array': encodeFrame(0, 0, '{"journal":1,"store":"x"}').bytes,
    'a newer version': newer,
  }
  for (const [name, start] of Object.entries(cases)) {
    it(`stops the start when it is ${name}, with and without frames after it`, async (t) => {
      const journal = await journalFile(t)
      for (const rest of [[], frames]) {
        await journal.write(start, ...rest)
        await assert.rejects(journal.replay(), damagedAt(0))
      }
    })
  }

  it('of a newer version names the version and advises the newer program', async (t) => {
    const journal = await journalFile(t)
    await journal.write(newer)
    await assert.rejects(journal.replay(), /version 2 is unknown .* which reads 1.*connbook that wrote it/)
  })
})
