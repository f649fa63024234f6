import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { RecordHistories } from '../../src/audit/record-history.ts'
import { TrailUnavailableError } from '../../src/errors.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('the history in a trail', () => {
  it('fails without waiting when a file of the trail is a pipe', async (t) => {
    const paths = dataPaths(await temporaryFolder(t))
    execFileSync('mkfifo', [paths.file('audit.jsonl')])
    const histories = new RecordHistories(paths, { written: async () => {} }, createMemoryLog())
    const reading = histories.read({ store: 'store001', revision: 1 }, 1, 100, async (piece) => piece())
    await assert.rejects(reading, TrailUnavailableError)
  })
})
