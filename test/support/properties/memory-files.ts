import type { Stats } from 'node:fs'
import { basename } from 'node:path'
import type { FileSystem, OpenFile } from '../../../src/files/file-system.ts'
import { systemError } from '../failing-files.ts'

const NEWLINE = 0x0a

/** A folder of files in memory, for what reads and replaces files as a whole. */
export interface MemoryFiles extends FileSystem {
  /** By name. */
  readonly contents: Map<string, Buffer>
}

export function createMemoryFiles(): MemoryFiles {
  const contents = new Map<string, Buffer>()
  const find = (path: string): Buffer => {
    const content = contents.get(basename(path))
    if (content === undefined) throw systemError('ENOENT', path)
    return content
  }
  const statsOf = (path: string) => ({ size: find(path).length, isFile: () => true, uid: 0, gid: 0 }) as Stats
  const unused = async (): Promise<never> => {
    throw new Error('nobody asks for this')
  }
  return {
    contents,
    async open(path, flags) {
      if (flags === 'r' && !contents.has(basename(path)))
        return { ...memoryFile(Buffer.alloc(0)), sync: async () => {} }
      if (flags === 'r') return memoryFile(find(path))
      contents.set(basename(path), Buffer.alloc(0))
      return {
        ...memoryFile(Buffer.alloc(0)),
        async write(bytes, offset, length) {
          contents.set(basename(path), Buffer.concat([find(path), bytes.subarray(offset, offset + length)]))
          return { bytesWritten: length }
        },
        sync: async () => {},
        stat: async () => statsOf(path),
      }
    },
    readFile: async (path) => find(path),
    async rename(from, to) {
      contents.set(basename(to), find(from))
      contents.delete(basename(from))
    },
    async unlink(path) {
      find(path)
      contents.delete(basename(path))
    },
    lstat: async (path) => statsOf(path),
    freeBytes: async () => 0,
    stat: async (path) => (contents.has(basename(path)) ? statsOf(path) : ({ uid: 0, gid: 0 } as Stats)),
    access: async () => {},
    mkdir: unused,
    rmdir: unused,
    chmod: unused,
    readdir: unused,
    lock: noPath,
    reach: noPath,
  }
}

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
  }
}

function noPath(): never {
  throw new Error('these files have no path that others could use')
}

async function refuse(): Promise<never> {
  throw new Error('the file is only to be read')
}
