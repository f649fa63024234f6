import type { Stats } from 'node:fs'
import fs from 'node:fs/promises'

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
  stat(): Promise<Stats>
  close(): Promise<void>
}

/** All access to the file system goes through this, so that tests can make it fail. */
export interface FileSystem {
  open(path: string, flags: string, mode?: number): Promise<OpenFile>
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
}

export const realFileSystem: FileSystem = {
  async open(path, flags, mode) {
    const file = await fs.open(path, flags, mode)
    return {
      write: (bytes, offset, length, position) => file.write(bytes, offset, length, position),
      // Node's error of a bad sector names no file.
      read: (bytes, offset, length, position) =>
        file.read(bytes, offset, length, position).catch((error: unknown) => {
          if (error instanceof Error) error.message += ` "${path}" at byte ${position}`
          throw Object.assign(error as object, { path })
        }),
      sync: () => file.sync(),
      datasync: () => file.datasync(),
      truncate: (length) => file.truncate(length),
      chown: (uid, gid) => file.chown(uid, gid),
      stat: () => file.stat(),
      close: () => file.close(),
    }
  },
  readFile: (path) => fs.readFile(path),
  rename: fs.rename,
  unlink: fs.unlink,
  mkdir: (path, mode) => fs.mkdir(path, mode),
  rmdir: (path) => fs.rmdir(path),
  chmod: fs.chmod,
  readdir: (path) => fs.readdir(path),
  access: fs.access,
  stat: (path) => fs.stat(path),
  lstat: (path) => fs.lstat(path),
}
