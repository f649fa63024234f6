import type { Stats } from 'node:fs'
import type { OpenFile } from '../../../src/files/file-system.ts'

const NEWLINE = 0x0a

/**
 * A file to be read that gives as many bytes at a time as it is told.
 *
 * The buffer has a newline behind the bytes read, which the reader must ignore.
 *
 * @param sizes Taken in turn, again and again; each at least 1.
 */
export function memoryFile(
  content: Uint8Array,
  sizes: readonly number[] = [Number.MAX_SAFE_INTEGER],
): OpenFile {
  let reads = 0
  return {
    async read(bytes, offset, length, position) {
      const size = sizes[reads % sizes.length] ?? 1
      reads += 1
      const some = content.subarray(position, position + Math.min(size, length))
      bytes.set(some, offset)
      if (offset + some.length < bytes.length) bytes[offset + some.length] = NEWLINE
      return { bytesRead: some.length }
    },
    stat: async () => ({ size: content.length }) as Stats,
    close: async () => {},
    write: refuse,
    sync: refuse,
    datasync: refuse,
    truncate: refuse,
    chown: refuse,
    chmod: refuse,
    readdir: refuse,
  }
}

async function refuse(): Promise<never> {
  throw new Error('the file is only to be read')
}
