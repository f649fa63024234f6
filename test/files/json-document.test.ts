import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { DamagedFileError } from '../../src/errors.ts'
import { createJsonDocument } from '../../src/files/json-document.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { createMemoryFiles } from '../support/properties/memory-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const content = { secret: 'hüsh', list: [1, 2.5, null, true, { __proto__: null, a: '\u2028' }] }

function anything(input: unknown): unknown {
  return input
}

async function documentFile(t: TestContext, parse = anything) {
  const path = join(await temporaryFolder(t), 'keys.json')
  const files = createFailingFiles()
  return {
    path,
    files,
    document: createJsonDocument(path, { format: 'connbook keys', version: 1, parse }, 'mend it', files),
  }
}

describe('a JSON document', () => {
  it('returns what was written to a private file, and nothing when there is no file', async (t) => {
    const { document, path } = await documentFile(t)
    assert.equal(await document.read(), undefined)
    await document.write(content)
    assert.deepEqual(await document.read(), JSON.parse(JSON.stringify(content)))
    assert.equal((await stat(path)).mode & 0o777, 0o600)
  })

  it('may be reindented by any tool', async (t) => {
    const { document, path } = await documentFile(t)
    await document.write(content)
    await writeFile(path, JSON.stringify(JSON.parse(await readFile(path, 'utf8'))))
    assert.deepEqual(await document.read(), JSON.parse(JSON.stringify(content)))
  })

  it('is refused with any bit flipped or cut at any length, with advice and without showing the secret', async () => {
    const files = createMemoryFiles()
    const document = createJsonDocument(
      '/keys.json',
      { format: 'connbook keys', version: 1, parse: anything },
      'mend it',
      files,
    )
    await document.write(content)
    const bytes = files.contents.get('keys.json') ?? assert.fail('it was not written')
    const flips = Array.from({ length: 8 * bytes.length }, (_, bit) => {
      const flipped = Buffer.from(bytes)
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      return flipped
    })
    const cuts = Array.from({ length: bytes.length - 1 }, (_, length) => bytes.subarray(0, length))
    // The newline at the very end may be missing: nothing is lost.
    for (const [index, damaged] of [...flips, ...cuts].entries()) {
      files.contents.set('keys.json', damaged)
      await assert.rejects(document.read(), (error) => {
        assert.ok(error instanceof DamagedFileError, `${index}: ${error}`)
        assert.match(error.message, /; mend it$|version \S+ is unknown .*; use the connbook that wrote it/)
        assert.doesNotMatch(`${error.message} ${error.cause}`, /h.?sh/)
        return true
      })
    }
  })

  it('is refused when it has another kind or a newer version', async (t) => {
    const { document, path } = await documentFile(t)
    await document.write(content)
    const text = await readFile(path, 'utf8')
    for (const [from, to, message] of [
      ['connbook keys', 'connbook accounts', /it is no "connbook keys" file/],
      [
        '"version": 1',
        '"version": 2',
        /version 2 is unknown to this program, which reads 1, .*; use the connbook that wrote it/,
      ],
      ['"version": 1', '"version": 0', /it is no "connbook keys" file at byte 0; mend it$/],
      ['"version": 1', '"version": "2"', /it is no "connbook keys" file at byte 0; mend it$/],
      ['"version": 1,', '', /it is no "connbook keys" file at byte 0; mend it$/],
      [/"version": 1(.*)"list"/s, '"version": 2$1"lists"', /checksum differs at byte 0; mend it$/],
      ['"list"', '"lists"', /checksum differs/],
    ] as const) {
      await writeFile(path, text.replace(from, to))
      await assert.rejects(document.read(), message)
    }
    for (const other of ['', '[]', 'null', '1', '{}']) {
      await writeFile(path, other)
      await assert.rejects(document.read(), DamagedFileError)
    }
  })

  it('is refused with an unknown member around its content, with advice to use the newer connbook', async (t) => {
    const { document, path } = await documentFile(t)
    await document.write(content)
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.replace('"format"', '"owner": "x", "format"'))
    await assert.rejects(document.read(), (error) => {
      assert.ok(error instanceof DamagedFileError)
      assert.match(
        error.message,
        /newer connbook: the member "owner" of the file is unknown to this program at byte 0/,
      )
      assert.doesNotMatch(error.message, /mend it/)
      return true
    })
  })

  it('is refused with the reason when its content does not parse', async (t) => {
    const refuse = () => {
      throw new SyntaxError('it holds no list')
    }
    const { document, path } = await documentFile(t, refuse)
    await document.write(content)
    await assert.rejects(document.read(), { name: 'DamagedFileError', path, message: /it holds no list/ })
  })

  it('distinguishes a failing disk from damage', async (t) => {
    const { document, files } = await documentFile(t)
    await document.write(content)
    failOn(files, 'readFile', 'keys.json', 'EIO')
    await assert.rejects(document.read(), { code: 'EIO' })
  })

  it('keeps the old content when the new cannot be written', async (t) => {
    const { document, files } = await documentFile(t)
    await document.write(content)
    for (const operation of ['open', 'write', 'sync', 'rename'] as const) {
      failOn(files, operation, '', 'ENOSPC')
      await assert.rejects(document.write('new'), { code: 'ENOSPC' })
      assert.deepEqual(await document.read(), JSON.parse(JSON.stringify(content)))
    }
  })
})
