import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { refreshFile } from '../../src/files/refreshed-file.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const WHAT = 'Cannot write the export to'
const LONG = 'é'.repeat(100_000)

/** @returns Whether the file was replaced. */
async function refresh(path: string, pieces: readonly string[], files = createFailingFiles()) {
  const write = async (add: (text: string) => Promise<void>) => {
    for (const piece of pieces) await add(piece)
  }
  const { isReplaced, stats } = await refreshFile(path, WHAT, write, new AbortController().signal, files)
  const { ino, size, mtimeMs } = await stat(path)
  assert.deepEqual([stats.ino, stats.size, stats.mtimeMs], [ino, size, mtimeMs])
  return isReplaced
}

describe('a file that is replaced only by other text', () => {
  const cases: [before: string, after: string[]][] = [
    ['', []],
    ['', ['a']],
    ['a', []],
    ['a', ['a']],
    ['abc', ['ab', 'c']],
    ['abc', ['ab']],
    ['ab', ['ab', 'c']],
    ['abc', ['ab', 'd']],
    ['abc', ['x', 'bc']],
    [`${LONG}a`, [LONG, 'a']],
    [`${LONG}a`, [LONG, 'b']],
    [`${LONG}${LONG}`, [LONG, LONG, 'b']],
  ]
  for (const [before, after] of cases) {
    const text = after.join('')
    const shown = (all: string) => JSON.stringify(all.replaceAll(LONG, '…'))
    it(`${shown(before)} becomes ${shown(text)}`, async (t) => {
      const path = join(await temporaryFolder(t), 'file')
      await writeFile(path, before, { mode: 0o640 })
      await chmod(path, 0o640)
      const { ino } = await stat(path)
      assert.equal(await refresh(path, after), before !== text)
      const now = await stat(path)
      assert.equal(await readFile(path, 'utf8'), text)
      assert.equal(now.mode & 0o777, 0o640)
      assert.equal(now.ino === ino, before === text)
      assert.deepEqual(await readdir(join(path, '..')), ['file'])
    })
  }

  it('is made where there is none, for its owner alone', async (t) => {
    const path = join(await temporaryFolder(t), 'file')
    assert.equal(await refresh(path, []), true)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.equal(await refresh(path, []), false)
  })

  it('is known as it was left, though somebody else takes it away at once', async (t) => {
    const folder = await temporaryFolder(t)
    const path = join(folder, 'file')
    const files = createFailingFiles()
    files.before = (operation, at) => {
      if (operation === 'sync' && at === folder) rmSync(path)
    }
    const write = (add: (text: string) => Promise<void>) => add('text')
    const left = await refreshFile(path, WHAT, write, new AbortController().signal, files)
    assert.deepEqual([left.isReplaced, left.stats.size], [true, 4])
    assert.deepEqual(await readdir(folder), [])
  })

  it('does not open another file for the same text', async (t) => {
    const path = join(await temporaryFolder(t), 'file')
    await writeFile(path, LONG)
    const files = createFailingFiles()
    assert.equal(await refresh(path, [LONG], files), false)
    assert.deepEqual(files.calls.filter((call) => call.startsWith('open')).length, 1)
  })

  for (const [operation, code] of [
    ['write', 'ENOSPC'],
    ['sync', 'EIO'],
    ['rename', 'EACCES'],
    ['read', 'EIO'],
  ] as const)
    it(`stays as it is when ${operation} fails`, async (t) => {
      const path = join(await temporaryFolder(t), 'file')
      await writeFile(path, 'before')
      const files = createFailingFiles()
      failOn(files, operation, 'file', code)
      await assert.rejects(refresh(path, ['bef', 'after'], files), {
        code: 'file_not_replaced',
        message: new RegExp(
          `^Cannot write the export to "[^"]+" \\(${code}\\); what was there before is untouched`,
        ),
      })
      assert.equal(await readFile(path, 'utf8'), 'before')
      assert.deepEqual(await readdir(join(path, '..')), ['file'])
      assert.equal(await refresh(path, ['bef', 'after'], files), true)
    })

  it('asks for no text while its folder is missing', async (t) => {
    const path = join(await temporaryFolder(t), 'missing', 'file')
    const write = async () => assert.fail('asked for text')
    const refreshed = refreshFile(path, WHAT, write, new AbortController().signal, createFailingFiles())
    await assert.rejects(refreshed, { message: /\(ENOENT\); .* make its folder first$/ })
  })
})
