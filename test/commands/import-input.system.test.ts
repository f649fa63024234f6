import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readInput } from '../../src/commands/import-records.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

it('the input of an import is unpacked when it is gzip, also from a pipe', async (t) => {
  const content = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * i) % 251))
  const packed = gzipSync(content)
  const pipe = join(await temporaryFolder(t), 'records.csv.pipe')
  execFileSync('mkfifo', [pipe])
  const pieces: Buffer[] = []
  // A piece is valid only during the call.
  const take = (piece: Buffer) => void pieces.push(Buffer.from(piece))
  await Promise.all([readInput(pipe, { input: Readable.from([]) }, take), writeFile(pipe, packed)])
  assert.ok(Buffer.concat(pieces).equals(content))
})
