import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { runExecutable } from '../../support/executable.ts'
import {
  changedFiles,
  fileIn,
  lineOffsets,
  readImage,
  replaceFile,
  writeImage,
} from '../../support/folder-image.ts'
import { prepareFolders } from '../../support/prepared-folder.ts'
import { createRandom } from '../../support/random.ts'
import { folderInMemory } from '../../support/temporary-folder.ts'
import { bitFlips, files } from './damage-kinds.ts'

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
