import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { TestContext } from 'node:test'
import { finishReplacement, prepareReplacement } from '../../src/files/folder-replacement.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { createFailingFiles, type FailingFiles } from '../support/failing-files.ts'
import { createRandom } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The files that a replacement is about. */
export const names = ['accounts.json', 'journal.jsonl', 'keys.json', 'snapshot.json', 'journal.old.jsonl']
/** Files that it leaves alone. */
export const foreign = { 'notes.txt': 'mine', '.hidden': 'mine too' }
export const old = {
  'accounts.json': 'old a',
  'journal.jsonl': 'old j',
  'journal.old.jsonl': 'old o',
  'keys.json': 'old k',
}
export const fresh = {
  'accounts.json': 'new a',
  'journal.jsonl': 'new j',
  'keys.json': 'new k',
  'snapshot.json': 'new s',
}

type Contents = Readonly<Record<string, string>>

/** Calls that may change something; other calls need no image. */
const changes = new Set(['open', 'write', 'sync', 'rename', 'unlink', 'mkdir', 'rmdir', 'chown'])

/** Writes these files. */
export async function fill(folder: string, contents: Contents) {
  for (const [name, text] of Object.entries(contents)) await writeFile(join(folder, name), text)
}

/** A new folder; by default, with the old files and foreign ones. */
export async function makeFolder(
  t: TestContext,
  contents: Contents = { ...old, ...foreign },
): Promise<string> {
  const folder = join(await temporaryFolder(t), 'data')
  await mkdir(folder, { mode: 0o700 })
  await fill(folder, contents)
  return folder
}

/** Replaces the old files by the fresh ones. @returns Where the old ones are then. */
export async function replace(folder: string, files: FailingFiles): Promise<string | undefined> {
  const replacement = await prepareReplacement(folder, files)
  await fill(replacement.path, fresh)
  await replacement.commit()
  return finishReplacement(folder, names, files)
}

/** Everything in a folder and below, by path, except the lock. */
export function read(folder: string): Contents {
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
export function write(folder: string, contents: Contents): void {
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
export function outcome(folder: string, before: Contents): 'old' | 'new' {
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

/** Opens a data folder, which completes what was begun, and gives it back. */
export async function open(folder: string, files?: FailingFiles) {
  const opened = await openDataFolder(folder, files)
  opened.release()
  return opened
}

/** The outcome once the folder is opened. */
export async function settle(folder: string, before: Contents): Promise<'old' | 'new'> {
  await open(folder)
  return outcome(folder, before)
}

/**
 * Asserts that a folder has the old or the new files when the process ends at any call, also during the completion.
 *
 * @param completions How many of the images that an interrupted completion leaves are tried, at random.
 * @param alsoWhenOld Whether the completion is also interrupted at each call when it only sweeps leftovers.
 */
export async function assertNeverHalfWay(
  t: TestContext,
  { completions, alsoWhenOld }: { readonly completions: number; readonly alsoWhenOld: boolean },
): Promise<void> {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const root = await temporaryFolder(t)
  const folder = await makeFolder(t)
  const before = read(folder)
  const files = createFailingFiles()
  const { images: kept, keep } = keepAtEachCall(files, folder)
  await replace(folder, files)
  keep('the end')
  assert.ok(kept.some(({ isCommitted }) => !isCommitted) && kept.some(({ isCommitted }) => isCommitted))

  let folders = 0
  const make = (contents: Contents) => {
    const path = join(root, String(folders++))
    write(path, contents)
    return path
  }
  const interrupted: { contents: Contents; at: string }[] = []
  for (const { contents, at, isCommitted } of kept) {
    const path = make(contents)
    const expected = isCommitted ? 'new' : 'old'
    const completing = createFailingFiles()
    const again = isCommitted || alsoWhenOld ? keepAtEachCall(completing, path) : { images: [] }
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
  for (let left = completions; left > 0 && interrupted.length > 0; left -= 1) {
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
}
