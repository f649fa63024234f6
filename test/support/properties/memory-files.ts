import type { Stats } from 'node:fs'
import { basename } from 'node:path'
import type { FileSystem } from '../../../src/files/file-system.ts'
import { systemError } from '../failing-files.ts'
import { memoryFile } from './memory-file.ts'

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
    stat: async (path) => (contents.has(basename(path)) ? statsOf(path) : ({ uid: 0, gid: 0 } as Stats)),
    access: async () => {},
    mkdir: unused,
    rmdir: unused,
    chmod: unused,
    readdir: unused,
  }
}
