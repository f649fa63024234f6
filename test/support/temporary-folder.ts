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
export async function temporaryFolder(t: Lifetime): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'connbook-test-'))
  // What was opened later is closed later, and may still write a file.
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 }))
  return folder
}
