import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readInput } from '../../src/commands/import-records.ts'
import { UsageError } from '../../src/errors.ts'
import type { FileSystem } from '../../src/files/file-system.ts'
import { InputDamagedError, InputUnreadableError } from '../../src/files/input.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const closed = {
  get input(): Readable {
    return assert.fail('standard input is opened')
  },
}

/** The bytes read from a source, and the shares reported meanwhile. */
async function read(source: string, context: { readonly input: Readable } = closed, files?: FileSystem) {
  const pieces: Buffer[] = []
  const shares: (number | undefined)[] = []
  const take = (piece: Buffer, share: number | undefined) => {
    // A piece is valid only during this call.
    pieces.push(Buffer.from(piece))
    shares.push(share)
  }
  await readInput(source, context, take, files)
  return { bytes: Buffer.concat(pieces), shares }
}

async function fileWith(t: TestContext, content: Uint8Array): Promise<string> {
  const path = join(await temporaryFolder(t), 'records.csv')
  await writeFile(path, content)
  return path
}

describe('the input of an import', () => {
  it('is a whole file, read in pieces, each with the share read so far', async (t) => {
    const content = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i % 251))
    const { bytes, shares } = await read(await fileWith(t, content))
    assert.ok(bytes.equals(content))
    assert.deepEqual(
      shares,
      [65_536, 131_072, 196_608, 200_000].map((end) => end / 200_000),
    )
  })

  it('is read whole when the disk gives few bytes at a time', async (t) => {
    const files = createFailingFiles()
    files.readBytesMax = 2
    const { bytes, shares } = await read(await fileWith(t, Buffer.from('abcde')), closed, files)
    assert.deepEqual([bytes.toString(), shares], ['abcde', [0.4, 0.8, 1]])
  })

  it('may be empty', async (t) => {
    assert.deepEqual((await read(await fileWith(t, Buffer.alloc(0)))).shares, [])
  })

  it('never has a share above the whole, even if the file grows meanwhile', async (t) => {
    const path = await fileWith(t, Buffer.from('abc'))
    const files = createFailingFiles()
    files.before = async (operation) => {
      if (operation === 'read') files.before = () => {}
      if (operation === 'read') await writeFile(path, 'abcdef')
    }
    const { bytes, shares } = await read(path, closed, files)
    assert.deepEqual([bytes.toString(), shares], ['abcdef', [1]])
  })

  it('is standard input for -, whose length is unknown', async () => {
    const { bytes, shares } = await read('-', { input: Readable.from([Buffer.from('a'), Buffer.from('b')]) })
    assert.deepEqual([bytes.toString(), shares], ['ab', [undefined, undefined]])
  })

  it('is unpacked when it is gzip, also from standard input', async (t) => {
    const content = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * i) % 251))
    const packed = Buffer.concat([gzipSync(content.subarray(0, 90_000)), gzipSync(content.subarray(90_000))])
    const file = await fileWith(t, packed)
    const files = createFailingFiles()
    files.readBytesMax = 1
    const standard = { input: Readable.from([packed.subarray(0, 1), packed.subarray(1)]) }
    for (const { bytes } of [await read(file), await read(file, closed, files), await read('-', standard)])
      assert.ok(bytes.equals(content))
  })

  it('is refused when its gzip is damaged or cut off', async (t) => {
    const packed = gzipSync('a,b\n'.repeat(100))
    for (const bytes of [packed.subarray(0, -3), Buffer.concat([packed.subarray(0, 12), Buffer.alloc(9)])])
      await assert.rejects(read(await fileWith(t, bytes)), InputDamagedError)
  })

  it('cannot be a folder', async (t) => {
    const folder = await temporaryFolder(t)
    await assert.rejects(read(folder), (error) => {
      assert.ok(error instanceof UsageError)
      assert.equal(error.message, `Cannot read "${folder}": it is a folder; name a file`)
      return true
    })
  })

  it('is unreadable when it is missing, or when the disk fails in the middle', async (t) => {
    const missing = join(await temporaryFolder(t), 'none')
    await assert.rejects(read(missing), (error) => {
      assert.ok(error instanceof InputUnreadableError)
      assert.match(error.message, /none" \(ENOENT\); name a file that this account can read$/)
      return true
    })
    const files = createFailingFiles()
    failOn(files, 'read', 'records', 'EIO')
    await assert.rejects(read(await fileWith(t, Buffer.from('a')), closed, files), InputUnreadableError)
  })

  it('fails with the error that its consumer throws', async (t) => {
    const path = await fileWith(t, Buffer.from('a'))
    const error = new Error('no record')
    const take = () => {
      throw error
    }
    await assert.rejects(readInput(path, closed, take), (thrown) => thrown === error)
  })
})
