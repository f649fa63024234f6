import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { AUDIT_FILE_BYTES_MAX } from '../../src/audit/audit-trail.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { recordCommand } from '../../src/state/command-audit.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function setUp(t: TestContext) {
  const folder = await temporaryFolder(t)
  const path = join(folder, 'audit.jsonl')
  const shown: string[] = []
  return {
    folder,
    path,
    shown,
    context: { screen: { write: (text: string) => shown.push(text) }, environment: {} },
  }
}

describe('recordCommand', () => {
  it('records what a command did, and the system account that ran it', async (t) => {
    const { folder, path, shown, context } = await setUp(t)
    await recordCommand(context, dataPaths(folder), 'user_added', 'user add', { account: 'x' })
    const { time, ...line } = JSON.parse(await readFile(path, 'utf8'))
    assert.deepEqual(line, {
      event: 'user_added',
      command: 'user add',
      by: userInfo().username,
      account: 'x',
    })
    assert.deepEqual(shown, [])
  })

  it('reports why the line cannot be written, and does not fail', async (t) => {
    const { folder, path, shown, context } = await setUp(t)
    await mkdir(path)
    await recordCommand(context, dataPaths(folder), 'user_added', 'user add')
    assert.equal(shown.length, 1)
    assert.match(shown[0] ?? '', / error audit_not_written reason=/)
  })

  it('never rotates the file, as a server may do so at the same time', async (t) => {
    const { folder, path, context } = await setUp(t)
    await writeFile(path, '')
    await truncate(path, AUDIT_FILE_BYTES_MAX + 1)
    await recordCommand(context, dataPaths(folder), 'user_added', 'user add')
    assert.deepEqual(await readdir(folder), ['audit.jsonl'])
  })
})
