import type { Stats } from 'node:fs'
import fs from 'node:fs/promises'
import { type FileLock, lockFile } from './file-lock.ts'
import { namingInodes } from './inodes.ts'

export interface OpenFile {
  /** May write less than asked; see `writeAll`. @param position null appends, in a file opened for that. */
  write(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number | null,
  ): Promise<{ bytesWritten: number }>
  /** @param position -1 reads on, in a pipe. */
  read(bytes: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>
  sync(): Promise<void>
  datasync(): Promise<void>
  truncate(length: number): Promise<void>
  chown(uid: number, gid: number): Promise<void>
  chmod(mode: number): Promise<void>
  stat(): Promise<Stats>
  close(): Promise<void>
}

/** All access to the file system goes through this, so that tests can make it fail. */
export interface FileSystem {
  /** @param flags As in `fs.open`, or from `fs.constants`. */
  open(path: string, flags: string | number, mode?: number): Promise<OpenFile>
  readFile(path: string): Promise<Buffer>
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  mkdir(path: string, mode: number): Promise<void>
  rmdir(path: string): Promise<void>
  chmod(path: string, mode: number): Promise<void>
  readdir(path: string): Promise<string[]>
  /** @param mode From `fs.constants`. */
  access(path: string, mode: number): Promise<void>
  stat(path: string): Promise<Stats>
  lstat(path: string): Promise<Stats>
  /** Bytes that this account may still write to the file system of a path. */
  freeBytes(path: string): Promise<number>
  /** As `lockFile`. */
  lock(path: string): FileLock | undefined
  /** Calls what takes a path itself, such as a socket, and is done with the path when it returns. */
  reach<T>(path: string, use: (path: string) => T): T
}

export const realFileSystem: FileSystem = {
  open: async (path, flags, mode) => withNamedErrors(await making(fs.open(path, flags, mode), path), path),
  readFile: (path) => withPath(fs.readFile(path), path),
  rename: fs.rename,
  unlink: fs.unlink,
  mkdir: (path, mode) => making(fs.mkdir(path, mode), path),
  rmdir: (path) => fs.rmdir(path),
  chmod: fs.chmod,
  readdir: (path) => fs.readdir(path),
  access: fs.access,
  stat: (path) => fs.stat(path),
  lstat: (path) => fs.lstat(path),
  freeBytes: async (path) => {
    const { bavail, bsize } = await fs.statfs(path)
    return bavail * bsize
  },
  lock: lockFile,
  reach: (path, use) => use(path),
}

async function making<T>(call: Promise<T>, path: string): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw namingInodes(error, path)
  }
}

/** An open file whose errors name it: those of Node do not. */
export function withNamedErrors(file: OpenFile, path: string): OpenFile {
  const named = <T>(call: Promise<T>) => withPath(call, path)
  return {
    write: (bytes, offset, length, position) => named(file.write(bytes, offset, length, position)),
    read: (bytes, offset, length, position) =>
      named(file.read(bytes, offset, length, position)).catch((error: unknown) => {
        if (error instanceof Error) error.message += ` "${path}" at byte ${position}`
        throw error
      }),
    sync: () => named(file.sync()),
    datasync: () => named(file.datasync()),
    truncate: (length) => named(file.truncate(length)),
    chown: (uid, gid) => named(file.chown(uid, gid)),
    chmod: (mode) => named(file.chmod(mode)),
    stat: () => named(file.stat()),
    close: () => named(file.close()),
  }
}

/** Adds the path to the error of a call that fails. */
function withPath<T>(call: Promise<T>, path: string): Promise<T> {
  return call.catch((error: unknown) => {
    throw Object.assign(error as object, { path })
  })
}
