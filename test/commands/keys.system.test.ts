import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { runExecutable } from '../support/executable.ts'
import { usedFolder } from '../support/service.ts'

describe('connbook keys', () => {
  it('leaves the keys unchanged when the disk is full', async (t) => {
    const folder = await usedFolder(t)
    const path = join(folder, dataFiles.keys)
    const before = await readFile(path, 'utf8')
    for (const verb of ['rotate', 'revoke-all']) {
      const through = ['prlimit', '--fsize=100']
      const { code, stderr } = await runExecutable(['keys', verb, '--data', folder], { through })
      assert.equal(code, 1)
      assert.match(stderr, /^connbook: Cannot (?:rotate|replace) the keys: no room is left on the disk\n$/)
      assert.equal(await readFile(path, 'utf8'), before)
    }
  })
})
