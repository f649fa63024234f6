import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { link, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeUsedFolder } from './kept-state.ts'
import { photographBook } from './photograph.ts'

const { folder } = await makeUsedFolder({ after })

function exportTo(output: string) {
  return runCommand(['export', '--format', 'json', '--output', output, '--data', folder])
}

describe('the file of export --output', () => {
  it('is never in the data folder, also not behind a link', async (t) => {
    const place = await temporaryFolder(t)
    await symlink(join(folder, 'accounts.json'), join(place, 'link'))
    await symlink(folder, join(place, 'data'))
    const before = await photographBook(folder)
    for (const output of [
      join(folder, 'accounts.json'),
      join(folder, 'new.json'),
      join(place, 'link'),
      join(place, 'data', 'keys.json'),
    ]) {
      const { code, stderr } = await exportTo(output)
      assert.equal(code, 1)
      assert.match(
        stderr,
        /^connbook: Cannot write the export to "[^"]+": it is in the data folder itself; name another file\n$/,
      )
    }
    assert.deepEqual(await photographBook(folder), before)
    assert.deepEqual((await readdir(place)).sort(), ['data', 'link'])
  })

  it('may be beside the data folder, and another name of one of its files', async (t) => {
    const accounts = await readFile(join(folder, 'accounts.json'), 'utf8')
    const place = await temporaryFolder(t)
    await link(join(folder, 'accounts.json'), join(place, 'other-name'))
    assert.equal((await exportTo(join(place, 'other-name'))).code, 0)
    assert.equal((await exportTo(join(place, '..new'))).code, 0)
    assert.equal(await readFile(join(folder, 'accounts.json'), 'utf8'), accounts)
  })

  it('is not made behind a link to nothing', async (t) => {
    const place = await temporaryFolder(t)
    await symlink('missing', join(place, 'link'))
    assert.deepEqual(await exportTo(join(place, 'link')), {
      code: 1,
      stdout: '',
      stderr: `connbook: Cannot write the export to "${join(place, 'link')}": it is a link to a missing file; remove the link, or name another file\n`,
    })
    assert.deepEqual(await readdir(place), ['link'])
  })

  it('is named, not the data folder, when the system does not reach it', async (t) => {
    const place = await temporaryFolder(t)
    await symlink('loop', join(place, 'loop'))
    await writeFile(join(place, 'file'), '')
    for (const [name, code] of [
      ['loop', 'ELOOP'],
      ['loop/x', 'ELOOP'],
      ['x'.repeat(300), 'ENAMETOOLONG'],
      ['file/x', 'ENOTDIR'],
    ] as const) {
      const output = join(place, name)
      for (const [words, what] of [
        [['export', '--format', 'json', '--output', output], 'Cannot write the export to'],
        [['backup', output], 'Cannot keep a backup in'],
      ] as const) {
        const { code: exitCode, stderr } = await runCommand([...words, '--data', folder])
        assert.equal(exitCode, 1)
        assert.ok(stderr.startsWith(`connbook: ${what} "${output}"`), stderr)
        assert.match(stderr, new RegExp(`\\b${code}\\b.*; (make its folder first|name another file)\n$`))
      }
    }
  })
})
