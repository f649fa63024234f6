import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { extent } from '../support/extent.ts'
import { missingEtcd, startEtcd } from './support/etcd.ts'

const root = join(import.meta.dirname, '../..')

/** What a cluster cannot do, or does in another way. */
const others = {
  'imports beyond 4,000 changes': [
    'says reset to a reader that is 10,001 changes behind, and tells the rest to one that is less',
    'tells each change of an import of 10,000 to a reader that listens',
    'ends for a reader that stops reading, and goes on for the others',
    'is complete only after an import that is too large to be listed',
    'reads a large body to its last byte, chunked or not, which no other route does',
  ],
  'the disk of a folder': [
    'changes nothing on a full disk: 507',
    'tells nothing that the disk has refused',
    'answers 507 when the disk is full, and changes nothing',
  ],
  'files of a folder, and their lock': [
    'loses nothing of commands and other users that write the accounts meanwhile',
    'is 403 when a command ends the session while the accounts are locked',
    'begins anew with a restore, which gives up what came after the backup',
  ],
}

/** It prepares more records than an import may have here; its properties are tried here, too. */
const LONG_LIST = 'filtered-list.test.ts'
/** The least tests that tell whether a cluster answers as a folder does. */
const FEW = /^configuration|^events|^history/

describe('the tests of HTTP', { skip: missingEtcd, timeout: 600_000 }, () => {
  it('hold for records in etcd, but for what has a name here', async (t) => {
    const { urls } = await startEtcd(t, 1)
    const files = (await readdir(join(root, 'test/resources'))).filter(
      (name) => name.endsWith('.test.ts') && !name.includes('.executable.') && name !== LONG_LIST,
    )
    const wanted = extent({ quick: files.filter((name) => FEW.test(name)), full: files })
    const skipped = Object.values(others)
      .flat()
      .map((name) => `--test-skip-pattern=/^${RegExp.escape(name)}$/`)
    // Otherwise Node would run no tests within one.
    const { NODE_TEST_CONTEXT: _, ...environment } = process.env
    const child = spawn(
      process.execPath,
      [
        ...['--import', './test/support/light-argon2.ts', '--test', '--test-concurrency=2'],
        ...['--test-timeout=60000', ...skipped, ...wanted.map((name) => `test/resources/${name}`)],
      ],
      {
        cwd: root,
        env: { ...environment, CONNBOOK_TEST_ETCD: urls.join() },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    const failed = output.slice(output.indexOf('failing tests:'))
    assert.equal(code, 0, failed)
    assert.ok(
      Number(/^ℹ pass (\d+)$/m.exec(output)?.[1]) > extent({ quick: 100, full: 500 }),
      output.slice(-500),
    )
  })
})
