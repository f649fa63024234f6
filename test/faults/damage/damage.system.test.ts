import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { auditFiles, dataFiles } from '../../../src/files/data-folder.ts'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import {
  changedFiles,
  fileIn,
  lineOffsets,
  readImage,
  replaceFile,
  writeImage,
} from '../../support/folder-image.ts'
import { createClient } from '../../support/http-client.ts'
import { prepareFolders } from '../../support/prepared-folder.ts'
import { createRandom } from '../../support/random.ts'
import { folderInMemory } from '../../support/temporary-folder.ts'
import { bitFlips, files } from './damage-kinds.ts'

const FLIPS = 3

const random = createRandom()
const suite = { after }
const folders = await prepareFolders(suite)
const folder = join(await folderInMemory(suite), 'data')

describe('the executable', () => {
  const { image } = folders.compacting
  for (const name of files.filter((file) => image.has(file))) {
    it(`reports damage of ${name} in one line, ends with exit code 65, and changes nothing`, async (t) => {
      t.diagnostic(`seed ${random.seed}`)
      const [damage] = bitFlips(fileIn(image, name).subarray(0, 60), 1, random)
      const damaged = replaceFile(
        image,
        name,
        Buffer.concat([damage?.bytes ?? Buffer.alloc(0), fileIn(image, name).subarray(60)]),
      )
      await writeImage(folder, damaged)
      const { code, stdout, stderr } = await runExecutable(['--port', '0', '--data', folder])
      assert.deepEqual([code, stdout], [65, ''], stderr)
      assert.ok(stderr.startsWith(`connbook: Cannot read "${join(folder, name)}": `), stderr)
      assert.match(stderr, /^[^\n]+ at byte \d+; [^\n]+\n$/)
      assert.deepEqual(changedFiles(damaged, await readImage(folder)), [])
    })
  }

  it('starts whatever bit of a file without records is flipped, and shows no stack', async (t) => {
    t.diagnostic(`seed ${random.seed}`)
    for (const name of [auditFiles[0], dataFiles.initialCredentials]) {
      for (const { name: what, bytes } of bitFlips(fileIn(image, name), FLIPS, random)) {
        await writeImage(folder, replaceFile(image, name, bytes))
        const server = await startExecutable(t, ['--data', folder])
        // It waits for the end of the start.
        const { status } = await createClient(server.url)('GET', '/configurations/')
        assert.equal(status, 403, `${name}, ${what}`)
        assert.equal(await server.stop(), 0, `${name}, ${what}`)
        assert.doesNotMatch(server.stderr(), /\n\s+at /, `${name}, ${what}`)
      }
    }
  })

  for (const [what, share] of Object.entries({ 'in half': 0.5, 'of its last line': 1 })) {
    it(`reports a journal that was cut ${what} at the end of a line, as check does, and names what is missing`, async () => {
      const { compacted } = folders
      const journal = fileIn(compacted.image, dataFiles.journal)
      const ends = lineOffsets(journal)
      const end = ends[Math.min(Math.floor(ends.length * share), ends.length - 2)]
      const damaged = replaceFile(compacted.image, dataFiles.journal, journal.subarray(0, end))
      await writeImage(folder, damaged)
      for (const words of [['--port', '0'], ['check']]) {
        const { code, stdout, stderr } = await runExecutable([...words, '--data', folder])
        assert.equal(code, 65, stderr)
        assert.match(
          stdout + stderr,
          /audit trail lists acknowledged changes up to revision 38: .*"last" \(id 23\)/,
        )
      }
      assert.deepEqual(changedFiles(damaged, await readImage(folder)), [])
    })
  }
})
