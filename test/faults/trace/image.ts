import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Lifetime } from '../../support/temporary-folder.ts'
import type { DiskImage } from '../volatile/volatile-disk.ts'

/** A folder in memory if the system has one, because thousands of files are written there. */
export async function folderForImages(t: Lifetime): Promise<string> {
  const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  const folder = await mkdtemp(join(parent, 'connbook-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A folder with all that is in it, and the folders around it. */
export async function readImageOf(root: string): Promise<DiskImage> {
  const entries = new Map<string, Buffer | undefined>()
  for (let folder = root; folder !== '/'; folder = dirname(folder)) entries.set(folder, undefined)
  const image = new Map([...entries].reverse())
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    image.set(path, entry.isDirectory() ? undefined : await readFile(path))
  }
  return { entries: image }
}

/** Writes what the image has at `root` to the folder `to`, with the modes that the program uses. */
export async function writeImageOf(root: string, { entries }: DiskImage, to: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const [path, content] of entries) {
    if (!path.startsWith(`${root}/`)) continue
    const copy = to + path.slice(root.length)
    if (content === undefined) await mkdir(copy, { mode: 0o700 })
    else await writeFile(copy, content, { mode: 0o600 })
  }
}
