import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { FolderRefusedError } from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The permissions of a file, in octal. */
export async function mode(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o7777).toString(8)
}

/** A refusal that contains the path and all these words. */
export function refusal(path: string, ...said: string[]) {
  return (error: unknown) => {
    assert.ok(error instanceof FolderRefusedError, String(error))
    for (const part of [`"${path}"`, ...said])
      assert.ok(error.message.includes(part), `${error.message}: ${part}`)
    return true
  }
}

/**
 * Asserts that a folder is refused when any of its data files is not a plain file.
 *
 * @param place Makes what is in the place of the file.
 */
export async function assertOnlyPlainFiles(t: TestContext, place: (path: string) => unknown): Promise<void> {
  for (const name of Object.values(dataFiles)) {
    const path = await temporaryFolder(t)
    const file = join(path, name)
    await place(file)
    await assert.rejects(openDataFolder(path), refusal(file, 'it is not a plain file', 'move it away'))
  }
}
