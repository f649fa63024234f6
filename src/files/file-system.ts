import type { Stats } from 'node:fs'
import fs from 'node:fs/promises'
import { inTurn } from '../system-account.ts'
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
  lock(path: string): Promise<FileLock | undefined>
  /** Calls what takes a path itself, such as a socket, and is done with the path when it returns or resolves. */
  reach<T>(path: string, use: (path: string) => T | Promise<T>): Promise<T>
}

/** Makes a call for a path in its turn. `call` is given what turns a path into the one by which it is reached. */
export type Via = <T>(path: string, call: (own: (path: string) => string) => Promise<T>) => Promise<T>

/** @param reading Flags for `r`. */
export function createFileSystem(via: Via, reading: string | number = 'r'): FileSystem {
  return {
    open: (path, flags, mode) =>
      via(path, async (own) => {
        const opening = fs.open(own(path), flags === 'r' ? reading : flags, mode)
        return withNamedErrors(await making(opening, own(path)), path, via)
      }),
    readFile: (path) => via(path, (own) => withPath(fs.readFile(own(path), { flag: reading }), path)),
    rename: (from, to) => via(from, (own) => fs.rename(own(from), own(to))),
    unlink: (path) => via(path, (own) => fs.unlink(own(path))),
    mkdir: (path, mode) => via(path, (own) => making(fs.mkdir(own(path), mode), own(path))),
    rmdir: (path) => via(path, (own) => fs.rmdir(own(path))),
    chmod: (path, mode) => via(path, (own) => fs.chmod(own(path), mode)),
    readdir: (path) => via(path, (own) => fs.readdir(own(path))),
    access: (path, mode) => via(path, (own) => fs.access(own(path), mode)),
    stat: (path) => via(path, (own) => fs.stat(own(path))),
    lstat: (path) => via(path, (own) => fs.lstat(own(path))),
    freeBytes: (path) =>
      via(path, async (own) => {
        const { bavail, bsize } = await fs.statfs(own(path))
        return bavail * bsize
      }),
    lock: (path) => via(path, async (own) => lockFile(own(path))),
    reach: (path, use) => via(path, async (own) => use(own(path))),
  }
}

/** As the account that runs this process. */
export const realFileSystem: FileSystem = createFileSystem((_path, call) =>
  inTurn(() => call((path) => path)),
)

async function making<T>(call: Promise<T>, path: string): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw namingInodes(error, path)
  }
}

/** An open file whose errors name it: those of Node do not. */
function withNamedErrors(file: OpenFile, path: string, via: Via): OpenFile {
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
    // These two depend on the rights of the process, not on those with which the file was opened.
    chown: (uid, gid) => named(via(path, () => file.chown(uid, gid))),
    chmod: (mode) => named(via(path, () => file.chmod(mode))),
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
