import type { Stats } from 'node:fs'
import { dirname } from 'node:path'
import { ifPresent } from '../errors.ts'
import { type AtomicFile, openAtomicFile, readAt } from './atomic-file.ts'
import type { FileSystem, OpenFile } from './file-system.ts'
import { explainReplacing } from './replaced-file.ts'

const COPY_BYTES = 64 * 1024

/** A file as it was left. Whatever has been changed since, or before it could be looked at, differs. */
export interface RefreshedFile {
  readonly isReplaced: boolean
  readonly stats: Stats
}

/**
 * Replaces a file as `replaceFile` does, with its access kept, but only if its text is another one. Text of any length
 * takes little memory: it is compared while it comes.
 *
 * @param what As in `replaceFile`.
 * @param write Gets the function that takes a piece of the text.
 * @throws as `replaceFile` does.
 */
export function refreshFile(
  path: string,
  what: string,
  write: (write: (text: string) => Promise<void>) => Promise<void>,
  interruption: AbortSignal,
  files: FileSystem,
): Promise<RefreshedFile> {
  return explainReplacing({ path, what, interruption }, async (onPlaced) => {
    // Without its folder nothing needs to be asked for.
    await files.stat(dirname(path))
    const found = await ifPresent(files.lstat(path))
    const present = found?.isFile() ? await ifPresent(files.open(path, 'r')) : undefined
    let replacement: AtomicFile | undefined
    try {
      const before = await present?.stat()
      let bytesAlike = 0
      await write(async (text) => {
        interruption.throwIfAborted()
        const bytes = Buffer.from(text)
        if (replacement === undefined) {
          if (await hasAt(present, bytesAlike, bytes)) {
            bytesAlike += bytes.length
            return
          }
          replacement = await openAtomicFile(path, files)
          await copyStart(present, bytesAlike, replacement)
        }
        await replacement.write(bytes)
      })
      if (replacement === undefined) {
        if (before?.size === bytesAlike) return { isReplaced: false, stats: before }
        replacement = await openAtomicFile(path, files)
        await copyStart(present, bytesAlike, replacement)
      }
      if (found?.isFile()) await replacement.setAccess(found)
      const stats = await replacement.stat()
      await replacement.commit()
      return { isReplaced: true, stats }
    } finally {
      if (replacement?.isInPlace) onPlaced()
      await replacement?.abort()
      await present?.close()
    }
  })
}

/** Whether these bytes stand in the file at that place. */
async function hasAt(file: OpenFile | undefined, position: number, bytes: Buffer): Promise<boolean> {
  if (file === undefined) return false
  const there = Buffer.alloc(bytes.length)
  return (await readAt(file, position, there)) === bytes.length && there.equals(bytes)
}

async function copyStart(source: OpenFile | undefined, length: number, target: AtomicFile) {
  for (let copied = 0; source !== undefined && copied < length; ) {
    const bytes = Buffer.alloc(Math.min(COPY_BYTES, length - copied))
    if ((await readAt(source, copied, bytes)) < bytes.length)
      throw Object.assign(new Error('The file was cut while it was read'), { code: 'EIO' })
    await target.write(bytes)
    copied += bytes.length
  }
}
