import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DiskImage } from '../volatile/volatile-disk.ts'

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
