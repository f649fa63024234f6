import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Lifetime } from './temporary-folder.ts'

/** The folder of the project; paths of test files are relative to it. */
export const root = join(import.meta.dirname, '../..')

/**
 * Runs a test file in a process of its own.
 *
 * @param variables Further ones of its environment.
 * @throws {AssertionError} with what it printed on standard output, if one of its tests fails.
 */
export async function assertPasses(
  t: Lifetime,
  file: string,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  // Otherwise Node would run no tests within a test.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  const child = spawn(process.execPath, ['--test', file], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...environment, ...variables },
  })
  t.after(() => void child.kill('SIGKILL'))
  const ended = once(child, 'close')
  const output = await text(child.stdout)
  const [code] = await ended
  assert.equal(code, 0, output)
}
