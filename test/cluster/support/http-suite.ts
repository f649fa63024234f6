import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Lifetime } from '../../support/temporary-folder.ts'
import { startEtcd } from './etcd.ts'

const root = join(import.meta.dirname, '../../..')
const FOLDER = 'test/resources'
/** Stops a test that hangs; it judges none. */
const TEST_MS_MAX = 300_000

/** Names of tests of what a cluster cannot do, or does in another way. */
export const leftOut = {
  'imports beyond 4,000 changes': [
    'sends a reset to a reader that is 10,001 changes behind, and the changes to one that is less behind',
    'sends each change of an import of 10,000 to a reader that listens',
    'ends for a reader that stops reading, and goes on for the others',
    'is complete only after an import that is too large to be listed',
    'reads a large body to its last byte, chunked or not, which no other route does',
  ],
  'the disk of a folder': [
    'changes nothing on a full disk: 507',
    'sends no change that the disk has refused',
    'answers 507 when the disk is full, and changes nothing',
  ],
  'files of a folder, and their lock': [
    'starts again with a restore, which drops what came after the backup',
    'have the same cookie after a restart, and another one after a restore',
    'is kept in a journal that an older connbook refuses',
  ],
}

/** It prepares more records than an import may have here; its properties are tried here, too. */
const LONG_LIST = 'filtered-list.test.ts'

/** The tests of HTTP that run in one process, by their files, with what these files say. */
export async function readHttpTests(): Promise<Map<string, string>> {
  const all = await readdir(join(root, FOLDER))
  const names = all.filter((name) => /(?<!\.system|\.faults)\.test\.ts$/.test(name) && name !== LONG_LIST)
  const texts = await Promise.all(names.map((name) => readFile(join(root, FOLDER, name), 'utf8')))
  return new Map(names.map((name, i) => [name, texts[i] ?? '']))
}

/**
 * Runs tests of HTTP with all records in an etcd, but for those that are left out.
 *
 * @param names Of the files, without their folder.
 * @param passesMin Fewer tests than that mean that something else has run.
 */
export async function runHttpTests(
  t: Lifetime,
  names: readonly string[],
  { passesMin }: { passesMin: number },
): Promise<void> {
  const { urls } = await startEtcd(t, 1)
  const skipped = Object.values(leftOut)
    .flat()
    .map((name) => `--test-skip-pattern=/^${RegExp.escape(name)}$/`)
  // Otherwise Node would run no tests within one.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  const child = spawn(
    process.execPath,
    [
      ...['--import', './test/support/unsynced.ts', '--import', './test/support/light-argon2.ts'],
      ...['--test', '--test-isolation=none', `--test-timeout=${TEST_MS_MAX}`, ...skipped],
      // Otherwise what a test leaves open would keep the process running.
      '--test-force-exit',
      ...names.map((name) => `${FOLDER}/${name}`),
    ],
    {
      cwd: root,
      env: { ...environment, CONNBOOK_TEST_ETCD: urls.join() },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  t.after(() => void child.kill('SIGKILL'))
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.equal(code, 0, output.slice(output.indexOf('failing tests:')))
  assert.ok(Number(/^ℹ pass (\d+)$/m.exec(output)?.[1]) >= passesMin, output.slice(-500))
}
