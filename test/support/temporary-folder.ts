import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// As main.ts does.
process.umask(0o077)

/** A test, or a whole suite through the `after` of node:test. */
export interface Lifetime {
  after(cleanUp: () => void | Promise<void>): void
}

/** A new private folder, removed when the test or the suite ends. */
export function temporaryFolder(t: Lifetime): Promise<string> {
  return folderIn(tmpdir(), t)
}

/** The same in memory, if the system can, for a test that writes thousands of files. */
export function folderInMemory(t: Lifetime): Promise<string> {
  return folderIn(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), t)
}

async function folderIn(parent: string, t: Lifetime): Promise<string> {
  const folder = await mkdtemp(join(parent, 'connbook-test-'))
  // What was opened later is closed later, and may still write a file.
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 }))
  return folder
}
