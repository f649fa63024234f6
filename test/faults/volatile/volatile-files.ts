import { constants, type Stats, statSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FileSystem, OpenFile } from '../../../src/files/file-system.ts'
import { type Operation, systemError } from '../../support/failing-files.ts'
import type { Random } from '../../support/random.ts'
import type { Inode } from './inode.ts'
import type { VolatileDisk } from './volatile-disk.ts'

/** A failing operation: `times` in a row, after `skip` that succeed. */
export interface DiskFault {
  readonly operation: Operation
  readonly code: 'EIO' | 'ENOSPC'
  readonly skip: number
  readonly times: number
}

export interface VolatileFilesOptions {
  /** Chooses where writes and reads stop short and how long operations take. */
  readonly random: Pick<Random, 'integer'>
  /** The operation, counted from 0, at which the process dies; without it the process lives on. */
  readonly crashAt?: number
  /** Which syncs report success and do nothing. */
  readonly ignoredSyncs?: 'all' | 'folders'
}

/** The program's file system on a disk that forgets. Every operation takes one turn of the event loop or more. */
export interface VolatileFiles extends FileSystem {
  /** Adds faults to those still pending. */
  fail(fault: DiskFault): void
  /** No operation fails any more. */
  mend(): void
  /** How many operations have failed on purpose. */
  readonly failures: number
  /** Ends the process that uses the disk: nothing happens any more, and no promise settles. */
  kill(): void
  readonly isDead: boolean
  readonly died: Promise<void>
}

/** One write in this many is short. */
const SHORT_ODDS = 4
const LATE_TURNS_MAX = 2

export function createVolatileFiles(
  disk: VolatileDisk,
  { random, crashAt = Number.POSITIVE_INFINITY, ignoredSyncs }: VolatileFilesOptions,
): VolatileFiles {
  const faults: { skip: number; left: number; readonly operation: Operation; readonly code: string }[] = []
  const death = Promise.withResolvers<void>()
  let steps = 0
  let failures = 0
  let isDead = false

  /** Runs an operation; `action` gets the code of the error that it must end in, if any. */
  async function run<T>(
    operation: Operation,
    path: string,
    action: (failure: string | undefined) => T,
  ): Promise<T> {
    await nextTurn()
    if (steps++ >= crashAt) kill()
    if (isDead) return new Promise(() => {})
    const code = dueFailure(operation)
    try {
      const result = action(code)
      if (code !== undefined) throw systemError(code, path)
      return result
    } finally {
      for (let late = random.integer(0, LATE_TURNS_MAX); late > 0; late--) await nextTurn()
      if (isDead) await new Promise(() => {})
    }
  }

  function dueFailure(operation: Operation): string | undefined {
    const fault = faults.find((candidate) => candidate.operation === operation && candidate.left > 0)
    if (fault === undefined || fault.skip-- > 0) return undefined
    fault.left -= 1
    failures += 1
    return fault.code
  }

  function kill() {
    isDead = true
    death.resolve()
  }

  function partOf(length: number): number {
    return random.integer(1, SHORT_ODDS) === 1 ? random.integer(1, length) : length
  }

  function openInode(inode: Inode, path: string): OpenFile {
    const whenOpen = createGuard(path)
    const sync = (operation: 'sync' | 'datasync') =>
      run(operation, path, (failure) => {
        whenOpen()
        if (failure !== undefined) disk.failSync(inode)
        else if (ignoredSyncs !== 'all') disk.sync(inode)
      })
    return {
      write: (bytes, offset, length, position) =>
        run('write', path, (failure) => {
          whenOpen()
          // Some bytes may be written before the error.
          const bytesWritten = failure === undefined ? partOf(length) : random.integer(0, length - 1)
          if (bytesWritten > 0)
            disk.write(
              inode,
              position ?? disk.content(inode).length,
              bytes.subarray(offset, offset + bytesWritten),
            )
          return { bytesWritten }
        }),
      read: (bytes, offset, length, position) =>
        run('read', path, () => {
          whenOpen()
          const found = disk.content(inode).subarray(position, position + partOf(length))
          bytes.set(found, offset)
          return { bytesRead: found.length }
        }),
      sync: () => sync('sync'),
      datasync: () => sync('datasync'),
      truncate: (length) =>
        run('truncate', path, (failure) => {
          whenOpen()
          if (failure === undefined) disk.truncate(inode, length)
        }),
      chown: () => run('chown', path, whenOpen),
      chmod: () => run('chmod', path, whenOpen),
      stat: () =>
        run('stat', path, () => {
          whenOpen()
          return fileStats(disk.content(inode).length)
        }),
      close: () => run('close', path, whenOpen.close),
    }
  }

  function openFolder(path: string): OpenFile {
    const whenOpen = createGuard(path)
    const refuse = (operation: Operation, code: string) => () =>
      run(operation, path, () => {
        throw systemError(code, path)
      })
    const sync = (operation: 'sync' | 'datasync') =>
      run(operation, path, (failure) => {
        whenOpen()
        if (failure === undefined && ignoredSyncs === undefined) disk.syncFolder(path)
      })
    return {
      write: refuse('write', 'EBADF'),
      read: refuse('read', 'EISDIR'),
      sync: () => sync('sync'),
      datasync: () => sync('datasync'),
      truncate: refuse('truncate', 'EINVAL'),
      chown: () => run('chown', path, whenOpen),
      chmod: () => run('chmod', path, whenOpen),
      stat: () => run('stat', path, folderStats),
      close: () => run('close', path, whenOpen.close),
    }
  }

  function open(path: string, flags: string | number): OpenFile {
    if (flags === 'wx+' || flags === 'ax+') return openInode(disk.create(path), path)
    if (flags !== 'r' && flags !== 'r+' && flags !== 'a+')
      throw new TypeError(`Cannot open with flags "${flags}": none are known`)
    const found = getEntry(path)
    if (found !== 'folder') return openInode(found, path)
    if (flags !== 'r') throw systemError('EISDIR', path)
    return openFolder(path)
  }

  function getEntry(path: string): Inode | 'folder' {
    const found = disk.find(path)
    if (found === undefined) throw systemError('ENOENT', path)
    return found
  }

  function stats(path: string): Stats {
    const found = getEntry(path)
    return found === 'folder' ? folderStats() : fileStats(disk.content(found).length)
  }

  /** For an operation that returns nothing, and does nothing if it must fail. */
  const unlessFailing = (action: () => void) => (failure: string | undefined) => {
    if (failure === undefined) action()
  }
  return {
    open: (path, flags) =>
      run('open', path, (failure) => {
        if (failure !== undefined) throw systemError(failure, path)
        return open(path, flags)
      }),
    readFile: (path) =>
      run('readFile', path, () => {
        const found = getEntry(path)
        if (found === 'folder') throw systemError('EISDIR', path)
        return Buffer.from(disk.content(found))
      }),
    rename: (from, to) =>
      run(
        'rename',
        to,
        unlessFailing(() => disk.rename(from, to)),
      ),
    unlink: (path) =>
      run(
        'unlink',
        path,
        unlessFailing(() => disk.unlink(path)),
      ),
    mkdir: (path) =>
      run(
        'mkdir',
        path,
        unlessFailing(() => disk.mkdir(path)),
      ),
    rmdir: (path) =>
      run(
        'rmdir',
        path,
        unlessFailing(() => disk.rmdir(path)),
      ),
    chmod: (path) => run('chmod', path, () => void getEntry(path)),
    readdir: (path) => run('readdir', path, () => disk.entries(path)),
    access: (path) => run('access', path, () => void getEntry(path)),
    stat: (path) => run('stat', path, () => stats(path)),
    lstat: (path) => run('lstat', path, () => stats(path)),
    freeBytes: async () => 0,
    lock: noPath,
    reach: noPath,
    fail: ({ operation, code, skip, times }) => faults.push({ operation, code, skip, left: times }),
    mend: () => faults.splice(0),
    kill,
    died: death.promise,
    get failures() {
      return failures
    },
    get isDead() {
      return isDead
    },
  }
}

/** These files have no path that others could use. */
function noPath(path: string): never {
  throw systemError('ENOENT', path)
}

/** After `close`, throws as a closed file does. */
function createGuard(path: string) {
  let isOpen = true
  const check = () => {
    if (!isOpen) throw systemError('EBADF', path)
  }
  return Object.assign(check, {
    close() {
      isOpen = false
    },
  })
}

function fileStats(size: number): Stats {
  return statsOf(constants.S_IFREG | 0o600, size)
}

function folderStats(): Stats {
  return statsOf(constants.S_IFDIR | 0o700, 0)
}

/** Node makes Stats only of real files. */
function statsOf(mode: number, size: number): Stats {
  return Object.assign(statSync('/'), { mode, size, nlink: 1, uid: process.getuid?.() ?? 0 })
}
