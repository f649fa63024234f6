import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { globPaths } from '../../src/files/glob-paths.ts'
import { createFailingFiles, failOn, systemError } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('the paths of a pattern', () => {
  it('are those of glob(3), in the order of their bytes', async (t) => {
    const folder = await temporaryFolder(t)
    for (const name of ['a', 'b', 'Z', 'é', 'a-b', 'a*b', '.dot', '[x', 'd1/x', 'd2/x', 'd2/y']) {
      const path = join(folder, name)
      await mkdir(join(path, '..'), { recursive: true })
      await writeFile(path, '')
    }
    const wanted: Record<string, string[]> = {
      '?': ['Z', 'a', 'b', 'é'],
      'a*b': ['a*b', 'a-b'],
      'a\\*b': ['a*b'],
      '[!a-z]': ['Z', 'é'],
      '[^Z]': ['a', 'b', 'é'],
      '[]a]': ['a'],
      '[x': ['[x'],
      '.*': ['.dot'],
      'd*/x': ['d1/x', 'd2/x'],
      'd2/*': ['d2/x', 'd2/y'],
      'a/*': [],
      'none/*': [],
      'd*/y': ['d2/y'],
      'no\\ne': ['none'],
    }
    for (const [pattern, paths] of Object.entries(wanted)) {
      const found = await globPaths(`${folder}/${pattern}`, () => {})
      assert.deepEqual(
        found,
        paths.map((path) => join(folder, path)),
        pattern,
      )
    }
  })

  it('take few steps for a name that fits in many ways', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'a'.repeat(200)), '')
    assert.deepEqual(await globPaths(`${folder}/${'*a'.repeat(60)}*b`, () => {}), [])
  })

  it('report how many names they look at, and what cannot be read', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'x'), '')
    const looks: number[] = []
    await globPaths(`${folder}/*`, (names) => looks.push(names))
    assert.deepEqual(looks, [1])
    const files = createFailingFiles()
    failOn(files, 'readdir', folder, 'EIO')
    await assert.rejects(
      globPaths(`${folder}/*`, () => {}, files),
      { code: 'EIO' },
    )
  })

  it('leave out those that may not be looked at', async (t) => {
    const folder = await temporaryFolder(t)
    for (const name of ['a', 'b']) {
      await mkdir(join(folder, name))
      await writeFile(join(folder, name, 'x'), '')
    }
    const files = createFailingFiles()
    files.before = (operation, path) => {
      if (['readdir', 'lstat'].includes(operation) && path.startsWith(join(folder, 'a')))
        throw systemError('EACCES', path)
    }
    for (const pattern of ['*/x', '*/*'])
      assert.deepEqual(
        await globPaths(`${folder}/${pattern}`, () => {}, files),
        [join(folder, 'b/x')],
        pattern,
      )
  })
})
