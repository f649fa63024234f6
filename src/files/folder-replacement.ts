import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { systemCode } from '../errors.ts'
import { giveToOwnerOf, syncFolder } from './atomic-file.ts'
import type { FileSystem } from './file-system.ts'

/**
 * New files that are to take the place of those in a folder, all or none, whenever the process ends.
 *
 * They are written into a folder within that folder, whose name tells how far things are: `.restore-….tmp` while they
 * are written, `restore-….begun` once they are complete and the old files go aside, `restore-….cleared` while they
 * move in. From `begun` on there is no way back, and `finishReplacement` goes on wherever it was interrupted.
 */
export interface Replacement {
  /** The folder to write the new files into. */
  readonly path: string
  /** From now on the new files count; to be followed by `finishReplacement`, which makes that durable. */
  commit(): Promise<void>
  /** Removes the new files. */
  abort(): Promise<void>
}

const stampPattern = String.raw`\d{8}T\d{6}Z-[0-9a-f]{6}`
export const unfinishedName = new RegExp(`^\\.restore-${stampPattern}\\.tmp$`)
/** What was in the folder before, kept aside. */
export const asideName = new RegExp(`^before-restore-${stampPattern}$`)
export const committedName = new RegExp(`^restore-(${stampPattern})\\.(begun|cleared)$`)

export async function prepareReplacement(folder: string, files: FileSystem): Promise<Replacement> {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const stamp = `${time}-${randomBytes(3).toString('hex')}`
  const path = join(folder, `.restore-${stamp}.tmp`)
  await makeFolderIn(folder, path, files)
  return {
    path,
    async commit() {
      await syncFolder(path, files)
      await files.rename(path, join(folder, `restore-${stamp}.begun`))
    },
    abort: () => removeFolder(path, files),
  }
}

/**
 * Completes a replacement that was committed, if there is one.
 *
 * @param names The files that make up the folder's state; whatever of them is there goes aside.
 * @returns The folder that keeps the old files; undefined when nothing was there to be completed, or to be kept.
 */
export async function finishReplacement(
  folder: string,
  names: readonly string[],
  files: FileSystem,
): Promise<string | undefined> {
  const found = (await files.readdir(folder)).map((entry) => committedName.exec(entry)).find((match) => match)
  const [entry, stamp, phase] = found ?? []
  if (entry === undefined) return undefined
  const aside = join(folder, `before-restore-${stamp}`)
  const cleared = join(folder, `restore-${stamp}.cleared`)
  if (phase === 'begun') {
    await syncFolder(folder, files)
    await putAside(folder, names, aside, files)
    await files.rename(join(folder, entry), cleared)
    await syncFolder(folder, files)
  }
  await moveIn(folder, cleared, files)
  return (await files.readdir(folder)).includes(`before-restore-${stamp}`) ? aside : undefined
}

/** The name of a replacement that is committed and not yet finished. */
export function findUnfinishedReplacement(entries: readonly string[]): string | undefined {
  return entries.find((entry) => committedName.test(entry))
}

/** Removes what replacements left behind that were never committed. */
export async function sweepReplacements(folder: string, files: FileSystem): Promise<void> {
  for (const entry of await files.readdir(folder)) {
    if (unfinishedName.test(entry)) await removeFolder(join(folder, entry), files)
  }
}

async function putAside(folder: string, names: readonly string[], aside: string, files: FileSystem) {
  const old = (await files.readdir(folder)).filter((entry) => names.includes(entry))
  if (old.length === 0) return
  await makeFolderIn(folder, aside, files)
  // What moves in is only as safe as the name of the folder.
  await syncFolder(folder, files)
  for (const name of old) await files.rename(join(folder, name), join(aside, name))
  // The place that a name comes to goes to disk before the place that it leaves.
  await syncFolder(aside, files)
  await syncFolder(folder, files)
}

async function moveIn(folder: string, from: string, files: FileSystem) {
  for (const name of await files.readdir(from)) await files.rename(join(from, name), join(folder, name))
  await syncFolder(folder, files)
  await syncFolder(from, files)
  await files.rmdir(from)
  await syncFolder(folder, files)
}

/** A folder that is there already may have been left before it got its owner. */
async function makeFolderIn(folder: string, path: string, files: FileSystem) {
  await files.mkdir(path, 0o700).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw error
  })
  const made = await files.open(path, 'r')
  try {
    await giveToOwnerOf(folder, made, files)
  } finally {
    await made.close()
  }
}

async function removeFolder(path: string, files: FileSystem) {
  try {
    // An empty one may be another account's, which cannot be looked into and yet be removed.
    return await files.rmdir(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOTEMPTY') throw error
  }
  for (const name of await files.readdir(path)) await files.unlink(join(path, name))
  await files.rmdir(path)
}
