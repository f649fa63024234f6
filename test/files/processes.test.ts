import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { describeLockHolder } from '../../src/files/processes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('the holder of a lock', () => {
  it('is unknown for a file that nobody has locked, and for a missing one', async (t) => {
    const folder = await temporaryFolder(t)
    const path = join(folder, '.lock')
    await writeFile(path, '')
    assert.equal(describeLockHolder(path), undefined)
    assert.equal(describeLockHolder(join(folder, 'gone')), undefined)
  })
})
