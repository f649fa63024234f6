import type { BigIntStats } from 'node:fs'
import fs from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { systemCode } from '../errors.ts'
import { LOCK_PAUSE_MS, LOCK_WAIT_MS } from '../limits.ts'
import { runAs, type SystemAccount } from '../system-account.ts'
import { namingInodes } from './inodes.ts'

/** A lock that the kernel drops when the process ends. */
export interface FileLock {
  release(): void
}

const SQLITE_BUSY = 5
const SQLITE_CANTOPEN = 14
/** Result codes of a disk that failed or is full (sqlite.org/rescode.html). */
const diskCodes: Readonly<Record<number, string>> = { 10: 'SQLITE_IOERR', 13: 'SQLITE_FULL' }

/** Makes a call of SQLite, with whatever rights it is to have. */
type CallSqlite = <T>(call: () => T) => T

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
  makeFile(path, path)
  return lockDatabase(
    path,
    () => openDatabase(path),
    (call) => call(),
  )
}

/**
 * The same as another account. SQLite takes only whole paths, and the account may not get there by the whole path. Then root
 * opens the file, which makes none, and sees that it is the one of the account. All else is done as the account: SQLite
 * would follow what a journal beside the file says.
 *
 * @param reached A path by which the account gets to the file.
 */
export function lockFileAs(account: SystemAccount, path: string, reached: string): FileLock | undefined {
  const run: CallSqlite = (call) => runAs(account, call)
  const made = run(() => {
    makeFile(reached, path)
    return fs.lstatSync(reached, { bigint: true })
  })
  if (!made.isFile() || made.uid !== BigInt(account.uid))
    throw new Error('it is no file of the owner of the folder')
  return lockDatabase(path, () => openDatabaseAs(run, path, made), run)
}

function lockDatabase(path: string, open: () => DatabaseSync, run: CallSqlite): FileLock | undefined {
  let database: DatabaseSync | undefined
  try {
    const opened = open()
    database = opened
    // The uncommitted write fails on a read-only file, which two processes could otherwise lock at once.
    run(() => opened.exec('PRAGMA journal_mode=MEMORY; BEGIN EXCLUSIVE; PRAGMA user_version=1'))
    return hold(opened, run)
  } catch (error) {
    if (database !== undefined) run(() => database?.close())
    const result = resultOf(error)
    if (result === SQLITE_BUSY) return undefined
    const code = diskCodes[result]
    throw code === undefined ? error : Object.assign(error as Error, { code, path })
  }
}

/** @param made The file to open. */
function openDatabaseAs(run: CallSqlite, path: string, made: BigIntStats): DatabaseSync {
  const existing = pathToFileURL(path)
  existing.searchParams.set('mode', 'rw')
  const database = openIfReachable(() => run(() => openDatabase(existing))) ?? openDatabase(existing)
  if (isOpen(made)) return database
  run(() => database.close())
  throw new Error('another file has taken its place')
}

function openIfReachable(open: () => DatabaseSync): DatabaseSync | undefined {
  try {
    return open()
  } catch (error) {
    if (resultOf(error) === SQLITE_CANTOPEN) return undefined
    throw error
  }
}

/** Whether this process has a file open; only Linux shows it, and elsewhere it is taken for open. */
function isOpen(file: BigIntStats): boolean {
  const descriptors = '/proc/self/fd'
  if (!fs.existsSync(descriptors)) return true
  return fs.readdirSync(descriptors).some((fd) => {
    try {
      const { dev, ino } = fs.fstatSync(Number(fd), { bigint: true })
      return dev === file.dev && ino === file.ino
    } catch {
      // That of the listing itself is closed.
      return false
    }
  })
}

function openDatabase(path: string | URL): DatabaseSync {
  // Not an import: on an older Node, without SQLite, tests could not report the wrong version.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  return new DatabaseSync(path)
}

/** The primary result code of SQLite, in the low byte; 0 for other errors. */
function resultOf(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
}

function hold(database: DatabaseSync, run: CallSqlite): FileLock {
  held.add(database)
  return {
    release() {
      if (held.delete(database)) run(() => database.close())
    },
  }
}

/** @param shown Its path in errors: those of an open file do not name it. */
function makeFile(path: string, shown: string) {
  try {
    fs.closeSync(fs.openSync(path, 'wx', 0o600))
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return
    throw Object.assign(namingInodes(error, path) as Error, { path: shown })
  }
}

/**
 * Takes a lock, and tries again while another process holds it.
 *
 * @param take Undefined while the lock is held.
 * @param signal Ends the wait.
 * @returns Undefined if it is still held at the end of the wait.
 */
export async function waitForLock(
  take: () => Promise<FileLock | undefined> | FileLock | undefined,
  waitMs = LOCK_WAIT_MS,
  signal?: AbortSignal,
): Promise<FileLock | undefined> {
  const end = performance.now() + waitMs
  for (;;) {
    const lock = await take()
    if (lock !== undefined || performance.now() >= end || signal?.aborted) return lock
    await setTimeout(LOCK_PAUSE_MS)
  }
}
