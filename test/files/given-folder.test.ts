import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, chown, mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openDataFolder } from '../../src/files/data-folder.ts'
import { prepareReplacement } from '../../src/files/folder-replacement.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ownerOf } from './owner.ts'

/** A folder of another account, and in it a private folder of root. */
async function makePlace(t: TestContext) {
  const place = await temporaryFolder(t)
  await chown(place, 1234, 2345)
  const rootsOwn = join(place, 'roots-own')
  await mkdir(rootsOwn, { mode: 0o700 })
  return { place, rootsOwn, data: join(place, 'data') }
}

function openAsRoot(path: string, files = createFailingFiles()) {
  return openDataFolder(path, files, { isForOwnerOfParent: true })
}

describe('a folder that root makes', { skip: process.getuid?.() !== 0 }, () => {
  it('is given to the owner of the folder above', async (t) => {
    const { place, data } = await makePlace(t)
    // Folders made in such a folder have its set-group-ID bit.
    await chmod(place, 0o2700)
    const folder = await openAsRoot(data)
    t.after(() => folder.release())
    assert.deepEqual(await ownerOf(data), [1234, 2345])
  })

  const exchanges: Record<string, (data: string, rootsOwn: string) => Promise<void>> = {
    'a link to a folder of root': (data, rootsOwn) => symlink(rootsOwn, data),
    'a folder of root that holds a file': async (data, rootsOwn) => {
      await writeFile(join(rootsOwn, 'file'), '')
      await rename(rootsOwn, data)
    },
    'a folder of root that others can read': async (data, rootsOwn) => {
      await chmod(rootsOwn, 0o755)
      await rename(rootsOwn, data)
    },
    'a folder of a third account': async (data, rootsOwn) => {
      await chown(rootsOwn, 3456, 3456)
      await rename(rootsOwn, data)
    },
  }
  for (const [what, exchange] of Object.entries(exchanges)) {
    it(`is refused when ${what} takes its place meanwhile`, async (t) => {
      const { place, rootsOwn, data } = await makePlace(t)
      const files = createFailingFiles()
      files.before = async (operation, path) => {
        if (operation !== 'open' || path !== data) return
        files.before = () => {}
        await rename(data, join(place, 'moved'))
        await exchange(data, rootsOwn)
      }
      const before = await ownerOf(rootsOwn)
      await assert.rejects(openAsRoot(data, files), { code: 'folder_refused' })
      const after = await ownerOf(data)
      assert.notDeepEqual(after, [1234, 2345])
      if (what.includes('root')) assert.deepEqual(after, before)
    })
  }

  it('is looked at through the open folder, whatever its path leads to', async (t) => {
    const { place, rootsOwn, data } = await makePlace(t)
    await writeFile(join(rootsOwn, 'file'), '')
    const [empty, moved] = [join(place, 'empty'), join(place, 'moved')]
    await mkdir(empty, { mode: 0o700 })
    const files = createFailingFiles()
    files.before = async (operation, path) => {
      if (operation === 'open' && path === data) {
        await rename(data, moved)
        await rename(rootsOwn, data)
      } else if (operation === 'readdir') {
        files.before = () => {}
        await rename(data, rootsOwn)
        await rename(empty, data)
      }
    }
    await assert.rejects(openAsRoot(data, files), /it is not the empty folder that connbook made/)
    assert.deepEqual(await ownerOf(rootsOwn), [0, 0])
  })

  it('for a restore is refused when a link takes its place', async (t) => {
    const { place, rootsOwn } = await makePlace(t)
    const files = createFailingFiles()
    files.before = async (operation, path) => {
      if (operation !== 'open' || !path.includes('.restore-')) return
      files.before = () => {}
      await rename(path, join(place, 'moved'))
      await symlink(rootsOwn, path)
    }
    await assert.rejects(prepareReplacement(place, files), { code: 'ENOTDIR' })
    assert.deepEqual(await ownerOf(rootsOwn), [0, 0])
  })
})
