import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { systemCode } from '../errors.ts'

/** A lock that the kernel drops when the process ends. */
export interface FileLock {
  release(): void
}

const SQLITE_BUSY = 5
/** Result codes of a disk that failed or is full (sqlite.org/rescode.html). */
const diskCodes: Readonly<Record<number, string>> = { 10: 'SQLITE_IOERR', 13: 'SQLITE_FULL' }

// Keeps the database objects: collecting one would close its file and drop the lock.
const held = new Set<DatabaseSync>()

/**
 * Locks a file, which is made if missing, through an exclusive SQLite transaction that is never committed: that works
 * across containers and needs no clean-up. The process must not open the file elsewhere: closing it drops the lock.
 *
 * @returns undefined when another process, or this one, holds the lock.
 * @throws an error with `code` and `path` if the system or the disk failed.
 */
export function lockFile(path: string): FileLock | undefined {
  makeFile(path)
  // Not an import: on an older Node, without SQLite, tests could not report the wrong version.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path)
    // The uncommitted write fails on a read-only file, which two processes could otherwise lock at once.
    database.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version=1')
    return hold(database)
  } catch (error) {
    database?.close()
    const result = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0
    if (result === SQLITE_BUSY) return undefined
    // The low byte is the primary result code.
    const code = diskCodes[result & 0xff]
    throw code === undefined ? error : Object.assign(error as Error, { code, path })
  }
}

function hold(database: DatabaseSync): FileLock {
  held.add(database)
  return {
    release() {
      if (held.delete(database)) database.close()
    },
  }
}

/**
 * As root, gives a new lock file to the owner of the folder, under whose account the server runs. Never an existing
 * file: the owner of the folder could put a link to any file of root's there.
 */
function makeFile(path: string) {
  try {
    const file = openSync(path, 'wx', 0o600)
    try {
      if (process.getuid?.() === 0) {
        const { uid, gid } = statSync(dirname(path))
        fchownSync(file, uid, gid)
      }
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return
    // Errors of an open file do not tell its path.
    throw Object.assign(error as Error, { path })
  }
}
