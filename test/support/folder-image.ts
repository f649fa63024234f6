import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Every file of a data folder, by name. */
export type FolderImage = ReadonlyMap<string, Buffer>

export async function readImage(folder: string): Promise<FolderImage> {
  const names = (await readdir(folder)).sort()
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)),
  )
}

/** Makes a folder hold these files and nothing else. */
export async function writeImage(folder: string, image: FolderImage): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { mode: 0o700 })
  for (const [name, bytes] of image) await writeFile(join(folder, name), bytes, { mode: 0o600 })
}

/** The image with one file replaced, or removed if there are no bytes. */
export function replaceFile(image: FolderImage, name: string, bytes: Buffer | undefined): FolderImage {
  const changed = new Map(image)
  if (bytes === undefined) changed.delete(name)
  else changed.set(name, bytes)
  return changed
}

export function fileIn(image: FolderImage, name: string): Buffer {
  return image.get(name) ?? assert.fail(`the image has no ${name}`)
}

/** Names of the files that differ between two images. */
export function changedFiles(before: FolderImage, after: FolderImage): string[] {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter((name) => {
    const [was, is] = [before.get(name), after.get(name)]
    return was === undefined || is === undefined || !was.equals(is)
  })
}

/** The offset of each line of a file, and last the file's length. */
export function lineOffsets(bytes: Buffer): number[] {
  const offsets = [0]
  for (let newline = bytes.indexOf(0x0a); newline !== -1; newline = bytes.indexOf(0x0a, newline + 1)) {
    offsets.push(newline + 1)
  }
  if (offsets.at(-1) !== bytes.length) offsets.push(bytes.length)
  return offsets
}
