import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { stripSymbols } from '../../.build/strip-symbols.mjs'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('stripSymbols', () => {
  const skip = process.platform !== 'linux' && 'it is for Linux'
  it('makes a smaller Node that still runs, with the same bytes each time', { skip }, async (t) => {
    const node = await readFile(process.execPath)
    const stripped = stripSymbols(node)
    assert.ok(stripped.length < node.length)
    assert.ok(stripSymbols(stripped).equals(stripped))
    const path = join(await temporaryFolder(t), 'node')
    await writeFile(path, stripped, { mode: 0o755 })
    const { stdout } = await promisify(execFile)(path, ['--print', '6 * 7'])
    assert.equal(stdout, '42\n')
  })
})
