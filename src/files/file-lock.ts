import { closeSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { systemCode } from '../errors.ts'

/** A lock that the kernel drops when the process ends, however it ends. */
export interface FileLock {
  release(): void
}

const SQLITE_BUSY = 5

// A collected database object would close its file and so drop the lock.
const held = new Set<DatabaseSync>()

/**
 * Takes the one lock on a file, making the file if it is missing.
 *
 * The lock is SQLite's own, through an exclusive transaction that is never committed: it works across containers and
 * needs no clean-up. The process must not open the file in any other way, because closing it would drop the lock.
 *
 * @returns undefined when another process, or this one, holds it.
 */
export function lockFile(path: string): FileLock | undefined {
  makeFile(path)
  // An import would keep a test file from telling an older Node, which has no SQLite, that it is the wrong one.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const database = new DatabaseSync(path)
  try {
    // The write, which is never committed, fails on a file that can only be read: two readers would both get in.
    database.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version=1')
  } catch (error) {
    database.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return undefined
    throw error
  }
  held.add(database)
  return {
    release() {
      if (held.delete(database)) database.close()
    },
  }
}

/**
 * A lock file that root makes must not keep the account out that the server runs under. Only what was just made is
 * given away: by the name alone, the owner of the folder could have any file of root's given to it.
 */
function makeFile(path: string) {
  let file: number
  try {
    file = openSync(path, 'wx', 0o600)
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return
    throw error
  }
  try {
    if (process.getuid?.() === 0) {
      const { uid, gid } = statSync(dirname(path))
      fchownSync(file, uid, gid)
    }
  } finally {
    closeSync(file)
  }
}
