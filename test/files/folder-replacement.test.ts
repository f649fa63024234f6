import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { FolderRefusedError, systemCode } from '../../src/errors.ts'
import { openDataFolder } from '../../src/files/data-folder.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { finishReplacement, prepareReplacement } from '../../src/files/folder-replacement.ts'
import { extent } from '../support/extent.ts'
import { createFailingFiles, type FailingFiles, systemError } from '../support/failing-files.ts'
import { createRandom } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const names = ['accounts.json', 'journal.jsonl', 'keys.json', 'snapshot.json', 'journal.old.jsonl']
const foreign = { 'notes.txt': 'mine', '.hidden': 'mine too' }
const old = {
  'accounts.json': 'old a',
  'journal.jsonl': 'old j',
  'journal.old.jsonl': 'old o',
  'keys.json': 'old k',
}
const fresh = {
  'accounts.json': 'new a',
  'journal.jsonl': 'new j',
  'keys.json': 'new k',
  'snapshot.json': 'new s',
}

type Contents = Readonly<Record<string, string>>

/** Calls that may change something; other calls need no image. */
const changes = new Set(['open', 'write', 'sync', 'rename', 'unlink', 'mkdir', 'rmdir', 'chown'])

const IMAGES_OF_COMPLETION = extent({ quick: 6, full: Number.POSITIVE_INFINITY })
/** Whether the completion is also interrupted at each call when it only sweeps leftovers. */
const ALSO_WHEN_OLD = extent({ quick: false, full: true })

async function fill(folder: string, contents: Contents) {
  for (const [name, text] of Object.entries(contents)) await writeFile(join(folder, name), text)
}

async function makeFolder(t: TestContext, contents: Contents = { ...old, ...foreign }): Promise<string> {
  const folder = join(await temporaryFolder(t), 'data')
  await mkdir(folder, { mode: 0o700 })
  await fill(folder, contents)
  return folder
}

async function replace(folder: string, files: FailingFiles): Promise<string | undefined> {
  const replacement = await prepareReplacement(folder, files)
  await fill(replacement.path, fresh)
  await replacement.commit()
  return finishReplacement(folder, names, files)
}

/** Everything in a folder and below, by path, except the lock. */
function read(folder: string): Contents {
  const found: Record<string, string> = {}
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const key = relative(folder, path)
    if (entry.isDirectory()) found[`${key}/`] = ''
    else if (key !== '.lock') found[key] = readFileSync(path, 'utf8')
  }
  return found
}

/** Writes a folder with the content that `read` returned. */
function write(folder: string, contents: Contents): void {
  mkdirSync(folder)
  // A folder must come before its content.
  for (const [path, text] of Object.entries(contents)) {
    if (path.endsWith('/')) mkdirSync(join(folder, path))
    else writeFileSync(join(folder, path), text)
  }
}

function inFolder(folder: string, contents: Contents): Contents {
  return Object.fromEntries([
    [`${folder}/`, ''],
    ...Object.entries(contents).map(([name, text]) => [`${folder}/${name}`, text]),
  ])
}

/** The folder is unchanged, or has the new files and the old ones set aside, and nothing else. */
function outcome(folder: string, before: Contents): 'old' | 'new' {
  const found = read(folder)
  const aside = Object.keys(found).find((path) => path.startsWith('before-restore-') && path.endsWith('/'))
  if (aside === undefined) {
    assert.deepEqual(found, before)
    return 'old'
  }
  const moved = Object.entries(before).filter(([name]) => names.includes(name))
  const kept = Object.entries(before).filter(([name]) => !names.includes(name))
  assert.deepEqual(found, {
    ...Object.fromEntries(kept),
    ...fresh,
    ...inFolder(aside.slice(0, -1), Object.fromEntries(moved)),
  })
  return 'new'
}

interface Image {
  readonly contents: Contents
  readonly at: string
  readonly isCommitted: boolean
}

/** Keeps an image of a folder before each call that may change something, and once at the end. */
function keepAtEachCall(files: FailingFiles, folder: string): { images: Image[]; keep(at: string): void } {
  const images: Image[] = []
  let isCommitted = false
  const keep = (at: string) => void images.push({ contents: read(folder), at, isCommitted })
  files.before = (operation, path) => {
    if (!changes.has(operation)) return
    keep(`${operation} ${relative(folder, path)}`)
    if (operation === 'rename' && path.endsWith('.begun')) isCommitted = true
  }
  return { images, keep }
}

async function open(folder: string, files?: FailingFiles) {
  const opened = await openDataFolder(folder, files)
  opened.release()
  return opened
}

describe('the replacement of the files in a folder', { timeout: 60_000 }, () => {
  it('puts the new files in place, sets the old ones aside, and leaves the rest alone', async (t) => {
    const folder = await makeFolder(t)
    const aside = await replace(folder, createFailingFiles())
    assert.match(basename(aside ?? ''), /^before-restore-\d{8}T\d{6}Z-[0-9a-f]{6}$/)
    assert.equal(outcome(folder, { ...old, ...foreign }), 'new')
    assert.deepEqual(read(aside ?? ''), old)
  })

  it('creates no folder for old files when there are none', async (t) => {
    const folder = await makeFolder(t, foreign)
    assert.equal(await replace(folder, createFailingFiles()), undefined)
    assert.deepEqual(read(folder), { ...foreign, ...fresh })
  })

  it('keeps what was set aside before', async (t) => {
    const folder = await makeFolder(t)
    const first = await replace(folder, createFailingFiles())
    const second = await replace(folder, createFailingFiles())
    assert.notEqual(first, second)
    assert.deepEqual(read(first ?? ''), old)
    assert.deepEqual(read(second ?? ''), fresh)
  })

  it('can be aborted before it is committed', async (t) => {
    const folder = await makeFolder(t)
    const replacement = await prepareReplacement(folder, realFileSystem)
    await fill(replacement.path, fresh)
    await replacement.abort()
    assert.deepEqual(read(folder), { ...old, ...foreign })
    assert.equal(await finishReplacement(folder, names, realFileSystem), undefined)
  })

  it('that root left unreadable to the owner of the folder blocks nobody', async (t) => {
    const folder = await temporaryFolder(t)
    const left = '.restore-20260102T030405Z-abcdef.tmp'
    await mkdir(join(folder, left))
    const files = createFailingFiles()
    files.before = (operation, path) => {
      if (operation === 'readdir' && path.endsWith(left)) throw systemError('EACCES', path)
    }
    const opened = await openDataFolder(folder, files)
    opened.release()
    assert.ok(!(await readdir(folder)).includes(left))
  })

  it('leaves the old or the new files, complete, when the process ends at any call, also during the completion', async (t) => {
    const random = createRandom()
    t.diagnostic(`seed ${random.seed}`)
    const root = await temporaryFolder(t)
    const folder = await makeFolder(t)
    const before = read(folder)
    const files = createFailingFiles()
    const { images, keep } = keepAtEachCall(files, folder)
    await replace(folder, files)
    keep('the end')
    assert.ok(images.some(({ isCommitted }) => !isCommitted) && images.some(({ isCommitted }) => isCommitted))

    let folders = 0
    const make = (contents: Contents) => {
      const path = join(root, String(folders++))
      write(path, contents)
      return path
    }
    const interrupted: { contents: Contents; at: string }[] = []
    for (const { contents, at, isCommitted } of images) {
      const path = make(contents)
      const expected = isCommitted ? 'new' : 'old'
      const completing = createFailingFiles()
      const again = isCommitted || ALSO_WHEN_OLD ? keepAtEachCall(completing, path) : { images: [] }
      const isUnfinished = (await readdir(path)).some((name) => /^restore-/.test(name))
      const { completedRestore } = await open(path, completing)
      assert.equal(outcome(path, before), expected, at)
      assert.equal(completedRestore !== undefined, isUnfinished, at)
      interrupted.push(
        ...again.images.map((image) => ({ contents: image.contents, at: `${at}, then ${image.at}` })),
      )
      const { completedRestore: second } = await open(path)
      assert.equal(second, undefined, at)
      if (!isCommitted)
        for (const image of again.images) assert.equal(await settle(make(image.contents), before), 'old')
    }
    for (let left = IMAGES_OF_COMPLETION; left > 0 && interrupted.length > 0; left -= 1) {
      const [{ contents, at } = assert.fail()] = interrupted.splice(
        random.integer(0, interrupted.length - 1),
        1,
      )
      const path = make(contents)
      const third = createFailingFiles()
      const again = keepAtEachCall(third, path)
      await open(path, third)
      outcome(path, before)
      const last = again.images.length > 0 ? random.pick(again.images) : undefined
      if (last !== undefined)
        await settle(make(last.contents), before).catch((error) =>
          assert.fail(`${at}, then ${last.at}: ${error}`),
        )
    }
  })

  it('leaves the old or the new files when any call fails, and the next opening completes it', async (t) => {
    let hasFailed = true
    const outcomes = new Set<string>()
    for (let failing = 0; hasFailed; failing += 1) {
      hasFailed = false
      const folder = await makeFolder(t)
      const before = read(folder)
      const files = createFailingFiles()
      let calls = 0
      let at = ''
      let isCommitted = false
      files.before = (operation, path) => {
        const isNow = calls++ === failing
        if (operation === 'rename' && path.endsWith('.begun') && !isNow) isCommitted = true
        if (!isNow) return
        hasFailed = true
        at = `${operation} ${relative(folder, path)}`
        throw systemError('EIO', path)
      }
      if (failing === 0) await assert.rejects(replace(folder, files))
      else await replace(folder, files).catch((error) => assert.equal(systemCode(error), 'EIO', at))
      await open(folder)
      const found = outcome(folder, before)
      assert.equal(found, isCommitted ? 'new' : 'old', at)
      outcomes.add(found)
    }
    assert.equal(outcomes.size, 2)
  })

  it('is completed later when any call of the completion fails', async (t) => {
    const prepared = await makeFolder(t)
    const before = read(prepared)
    const replacement = await prepareReplacement(prepared, realFileSystem)
    await fill(replacement.path, fresh)
    await replacement.commit()
    const committed = read(prepared)
    let hasFailed = true
    for (let failing = 0; hasFailed; failing += 1) {
      hasFailed = false
      const folder = join(await temporaryFolder(t), 'copy')
      write(folder, committed)
      for (let times = 0; times < 3; times += 1) {
        const files = createFailingFiles()
        let calls = 0
        files.before = () => {
          if (calls++ !== failing) return
          hasFailed = true
          throw systemError('EIO', folder)
        }
        await open(folder, files).catch((error: unknown) => {
          assert.ok(systemCode(error) === 'EIO' || error instanceof FolderRefusedError, String(error))
        })
      }
      assert.equal(await settle(folder, before), 'new')
    }
  })

  it('leaves foreign folders alone whose names resemble its own', async (t) => {
    const folder = await makeFolder(t)
    await mkdir(join(folder, 'restore-april'))
    await mkdir(join(folder, 'restore-april.begun.bak'))
    await mkdir(join(folder, '.restore-april'))
    await mkdir(join(folder, '.restore-april.tmp'))
    await mkdir(join(folder, 'restore-april.begun'))
    await mkdir(join(folder, 'restore-april.cleared'))
    const before = read(folder)
    await open(folder)
    assert.deepEqual(read(folder), before)
  })
})

async function settle(folder: string, before: Contents): Promise<'old' | 'new'> {
  await open(folder)
  return outcome(folder, before)
}
