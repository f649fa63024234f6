import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { systemCode } from '../errors.ts'
import { syncFolder } from './atomic-file.ts'
import type { FileSystem } from './file-system.ts'

/**
 * Replaces the files of a folder, all or none, also across a crash.
 *
 * The new files are written into a subfolder, whose name is the phase: `.restore-….tmp` while they are written,
 * `restore-….begun` while the old files move aside, `restore-….cleared` while the new files move in. `begun` is the
 * commit; from then on `finishReplacement` continues after any interruption.
 */
export interface FolderReplacement {
  /** The subfolder for the new files. */
  readonly path: string
  /** The new files count from now on; call `finishReplacement` next, which makes that durable. */
  commit(): Promise<void>
  abort(): Promise<void>
}

const stampPattern = String.raw`\d{8}T\d{6}Z-[0-9a-f]{6}`
export const unfinishedName = new RegExp(`^\\.restore-${stampPattern}\\.tmp$`)
/** Holds the old files. */
export const asideName = new RegExp(`^before-restore-${stampPattern}$`)
export const committedName = new RegExp(`^restore-(${stampPattern})\\.(begun|cleared)$`)

export async function prepareReplacement(folder: string, files: FileSystem): Promise<FolderReplacement> {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const stamp = `${time}-${randomBytes(3).toString('hex')}`
  const path = join(folder, `.restore-${stamp}.tmp`)
  await makeFolderAt(path, files)
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
 * Completes a committed replacement, if there is one.
 *
 * @param names The files to move aside, where present.
 * @returns The folder with the old files; undefined without a replacement or without old files.
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

/** The name of a committed, unfinished replacement. */
export function findUnfinishedReplacement(entries: readonly string[]): string | undefined {
  return entries.find((entry) => committedName.test(entry))
}

/** Removes replacements that were never committed. */
export async function sweepReplacements(folder: string, files: FileSystem): Promise<void> {
  for (const entry of await files.readdir(folder)) {
    if (unfinishedName.test(entry)) await removeFolder(join(folder, entry), files)
  }
}

async function putAside(folder: string, names: readonly string[], aside: string, files: FileSystem) {
  const old = (await files.readdir(folder)).filter((entry) => names.includes(entry))
  if (old.length === 0) return
  await makeFolderAt(aside, files)
  // The folder's own name must be durable before files move into it.
  await syncFolder(folder, files)
  for (const name of old) await files.rename(join(folder, name), join(aside, name))
  // The target folder first: in the other order, a power loss could drop a file from both.
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

async function makeFolderAt(path: string, files: FileSystem) {
  await files.mkdir(path, 0o700).catch((error: unknown) => {
    // A crash may have left it.
    if (systemCode(error) !== 'EEXIST') throw error
  })
}

async function removeFolder(path: string, files: FileSystem) {
  try {
    // Tried first: an empty folder of another account can be removed, but not read.
    return await files.rmdir(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOTEMPTY') throw error
  }
  for (const name of await files.readdir(path)) await files.unlink(join(path, name))
  await files.rmdir(path)
}
