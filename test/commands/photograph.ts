import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The visible state of one file or folder. */
export interface Shot {
  readonly mode: string
  readonly owner: number
  readonly mtimeMs: number
  /** Undefined unless it is a plain file. */
  readonly content: string | undefined
}

/** Everything in a folder and in the folders below it, by path; the folder itself is `.`. */
export type Photograph = Readonly<Record<string, Shot>>

/** For comparison with `deepEqual`: shows whether anything in a folder was changed, even for a moment. */
export async function photograph(folder: string): Promise<Photograph> {
  const paths = (await readdir(folder, { recursive: true })).sort()
  const shots = ['.', ...paths].map(async (path) => [path, await shoot(join(folder, path))] as const)
  return Object.fromEntries(await Promise.all(shots))
}

/** As `photograph`, without what a backup changes: the time of the last one, and of the folder that its file is in. */
export async function photographState(folder: string): Promise<Photograph> {
  const shots = Object.entries(await photograph(folder))
  // A killed backup leaves the temporary file.
  const others = shots.filter(([path]) => !/^\.{1,2}last-backup(\.|$)/.test(path))
  return Object.fromEntries(
    others.map(([path, shot]) => [path, path === '.' ? { ...shot, mtimeMs: 0 } : shot]),
  )
}

/** As `photograph`, without what each command writes that opens a book: it locks the folder, and notes that time has passed. */
export async function photographBook(folder: string): Promise<Photograph> {
  const shots = Object.entries(await photograph(folder))
  const others = shots.filter(([path]) => !/^(?:\..*lock|revocations\.jsonl)$/.test(path))
  return Object.fromEntries(
    others.map(([path, shot]) => [path, path === '.' ? { ...shot, mtimeMs: 0 } : shot]),
  )
}

/** Content of the plain files in a folder, by name, without the locks, the audit trail and the time of the last backup. */
export async function contentsIn(folder: string): Promise<Record<string, string>> {
  const shots = Object.entries(await photograph(folder))
  return Object.fromEntries(
    shots.flatMap(([path, { content }]) =>
      content === undefined || /\/|lock$|^audit\.|^\.last-backup$/.test(path) ? [] : [[path, content]],
    ),
  )
}

async function shoot(path: string): Promise<Shot> {
  const found = await lstat(path)
  // A lock is empty, and opening it here would drop it if this process holds it.
  const content = !found.isFile() ? undefined : found.size === 0 ? '' : await readFile(path, 'latin1')
  return { mode: found.mode.toString(8), owner: found.uid, mtimeMs: found.mtimeMs, content }
}
