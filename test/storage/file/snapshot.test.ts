import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { crc32 } from 'node:zlib'
import { DamagedFileError } from '../../../src/errors.ts'
import { type FileSystem, realFileSystem } from '../../../src/files/file-system.ts'
import { openSnapshot, writeSnapshot } from '../../../src/storage/file/snapshot.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { createMemoryFiles } from '../../support/properties/memory-files.ts'
import { draft } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const header = { store: 'this store', revision: 9, lastId: 7 }
const records = [1, 3, 6].map(
  (id) =>
    new Configuration(id, draft(`"ö\u{1f5c4}" ${id}`, id === 3 ? { labels: { constructor: 'ü' } } : {})),
)

async function snapshotFile(t: TestContext) {
  const folder = await temporaryFolder(t)
  const path = join(folder, 'snapshot.json')
  return {
    folder,
    path,
    write: (some: readonly Configuration[], lastId = header.lastId) =>
      writeSnapshot(path, { ...header, lastId, count: some.length }, some, realFileSystem),
    read: () => readSnapshot(path, realFileSystem),
  }
}

async function readSnapshot(path: string, files: FileSystem) {
  const found: Configuration[] = []
  let jsonBytes = 0
  const visit = (record: Configuration, bytes: number) => {
    found.push(record)
    jsonBytes += bytes
  }
  const snapshot = await openSnapshot(path, files)
  try {
    return { header: await snapshot?.read(visit), found, jsonBytes }
  } finally {
    await snapshot?.close()
  }
}

/** Reads a snapshot of these bytes, of which there are thousands. */
function readFromMemory(bytes: Buffer) {
  const files = createMemoryFiles()
  files.contents.set('snapshot.json', bytes)
  return readSnapshot('/snapshot.json', files)
}

/** A snapshot with altered text and a valid checksum. */
function reseal(text: string, replaced: string | RegExp, replacement: string): string {
  const body = text.slice(0, text.lastIndexOf(']')).replace(replaced, replacement)
  return `${body}],"checksum":"${crc32(body).toString(16).padStart(8, '0')}"}\n`
}

describe('a snapshot', () => {
  for (const count of [0, 1, 499, 500, 501, 1000, 1234]) {
    it(`is read back with its ${count} records`, async (t) => {
      const { write, read, folder } = await snapshotFile(t)
      const many = Array.from({ length: count }, (_, i) => new Configuration(i + 1, draft(`ö${i}`)))
      const lastId = Math.max(header.lastId, count)
      const size = await write(many, lastId)
      const snapshot = await read()
      const { members: _, ...found } = snapshot.header ?? assert.fail('it is missing')
      assert.deepEqual(found, { ...header, lastId, count, size })
      assert.deepEqual(snapshot.found, many)
      assert.equal(snapshot.jsonBytes, Buffer.byteLength(many.map((record) => record.json).join('')))
      assert.deepEqual(await readdir(folder), ['snapshot.json'])
    })
  }

  it('is one JSON document, one record per line', async (t) => {
    const { path, write } = await snapshotFile(t)
    await write(records)
    const text = await readFile(path, 'utf8')
    const { records: parsed, ...rest } = JSON.parse(text)
    assert.deepEqual(parsed, JSON.parse(JSON.stringify(records)))
    assert.equal(rest.store, header.store)
    const lines = text.split('\n')
    assert.deepEqual(
      lines.slice(1, 4).map((line) => line.replace(/,$/, '')),
      records.map((record) => record.json),
    )
    assert.equal(lines.length, records.length + 3)
  })

  it('may be absent, without an error', async (t) => {
    const { read } = await snapshotFile(t)
    assert.equal((await read()).header, undefined)
  })
})

describe('a damaged snapshot', () => {
  it('is refused for any flipped bit', async (t) => {
    const { path, write } = await snapshotFile(t)
    await write(records.slice(0, 2))
    const bytes = await readFile(path)
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const flipped = Buffer.from(bytes)
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      await assert.rejects(readFromMemory(flipped), DamagedFileError, `bit ${bit}`)
    }
    assert.equal((await readFromMemory(bytes)).found.length, 2)
  })

  it('is refused when cut at any length, or when anything follows it', async (t) => {
    const { path, write } = await snapshotFile(t)
    await write(records)
    const bytes = await readFile(path)
    for (let length = 0; length < bytes.length; length++)
      await assert.rejects(readFromMemory(bytes.subarray(0, length)), DamagedFileError, `length ${length}`)
    for (const more of ['\0', '\n', 'x', '{}\n'])
      await assert.rejects(readFromMemory(Buffer.concat([bytes, Buffer.from(more)])), DamagedFileError)
  })

  it('is reported as damaged, not as newer, when damage adds a member', async (t) => {
    const { path, write, read } = await snapshotFile(t)
    await write(records)
    const text = await readFile(path, 'utf8')
    for (const replaced of ['"records"', '"id":3,']) {
      await writeFile(path, text.replace(replaced, `"more":1,${replaced}`))
      await assert.rejects(read(), /the checksum differs/)
    }
  })

  it('is reported as damaged, not as newer, when damage changes the version', async (t) => {
    const { path, write, read } = await snapshotFile(t)
    await write(records)
    const text = await readFile(path, 'utf8')
    const newer = text.replace('"version":2', '"version":3')
    const last = newer.lastIndexOf(']')
    for (const [damaged, message] of [
      [newer, /the checksum differs at byte \d{3}/],
      [newer.slice(0, last), /the file was cut at byte \d{3}/],
      [newer.slice(0, newer.indexOf('\n') + 1), /the file was cut/],
    ] as const) {
      await writeFile(path, damaged)
      await assert.rejects(read(), message)
    }
  })

  const [first, second] = records.map((record) => record.json) as [string, string]
  const cases = {
    'a newer version': [
      '"version":2',
      '"version":3',
      /connbook snapshot version 3 is unknown .* use the connbook that wrote it/,
    ],
    'a newer version whose records this one cannot read': [
      /"version":2(.*\n).*\n/,
      '"version":3$1{"other":"form"},\n',
      /connbook snapshot version 3 is unknown .* use the connbook that wrote it/,
    ],
    'version 0': ['"version":2', '"version":0', /not a connbook snapshot header/],
    'a version that is no number': ['"version":2', '"version":"2"', /not a connbook snapshot header/],
    'an unknown member in its header': [
      '"revision":9',
      '"revision":9,"cluster":"c"',
      /newer connbook: the member "cluster" of the header is unknown to this program at byte 0; use the connbook/,
    ],
    'an unknown member in a record': [
      '"id":3,',
      '"id":3,"note":"x",',
      /newer connbook: the member "note" of a record is unknown to this program at byte \d{3}; use the connbook/,
    ],
    'another format': ['connbook snapshot', 'other', /not a connbook snapshot header/],
    'no revision': ['"revision":9', '"revision":null', /header is not complete/],
    'a record too few': [`${second},\n`, '', /header does not fit/],
    'records out of order': [`${first},\n${second}`, `${second},\n${first}`, /no record/],
    'a last id below an id': ['"lastId":7', '"lastId":5', /header does not fit/],
    'labels that are none': ['"labels":{', '"labels":{},"l":{', /no record/],
    'a label without a key': ['"constructor":', '"":', /no record/],
    'a label that is no text': ['"constructor":"ü"', '"constructor":1', /no record/],
    'a record without a port': ['"port":22,', '', /no record/],
  } as const
  for (const [name, [replaced, replacement, message]] of Object.entries(cases)) {
    it(`is refused for ${name}, although the checksum is valid`, async (t) => {
      const { path, write, read } = await snapshotFile(t)
      await write(records)
      const text = await readFile(path, 'utf8')
      await writeFile(path, reseal(text, replaced, replacement))
      await assert.rejects(read(), message)
      await writeFile(path, reseal(text, '', ''))
      assert.equal((await read()).found.length, records.length)
    })
  }
})
