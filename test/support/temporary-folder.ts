import { existsSync, statfsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DataFolder, openDataFolder } from '../../src/files/owned-folder.ts'

// As main.ts does.
process.umask(0o077)

/** Files here are in memory. */
const MEMORY = '/dev/shm'
const MEMORY_BYTES_MIN = 128 * 1024 * 1024

/** A test, or a whole suite through the `after` of node:test. */
export interface Lifetime {
  after(cleanUp: () => void | Promise<void>): void
}

/** A new private folder, removed when the test or the suite ends. */
export function temporaryFolder(t: Lifetime): Promise<string> {
  return folderIn(tmpdir(), t)
}

/** The same in memory, if there is room, for a test that writes thousands of files. */
export function folderInMemory(t: Lifetime): Promise<string> {
  return folderIn(hasRoomInMemory() ? MEMORY : tmpdir(), t)
}

/** A new data folder that this process owns until the test ends. */
export async function openedFolder(t: Lifetime): Promise<DataFolder> {
  const folder = await openDataFolder(await temporaryFolder(t))
  t.after(() => folder.release())
  return folder
}

/** A container may have a small one, or none. */
function hasRoomInMemory(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= MEMORY_BYTES_MIN
}

async function folderIn(parent: string, t: Lifetime): Promise<string> {
  const folder = await mkdtemp(join(parent, 'connbook-test-'))
  // What was opened later is closed later, and may still write a file.
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 }))
  return folder
}
