import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { missing } from '../support/debian.ts'
import { startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { admin, usedFolder } from '../support/service.ts'

/** Enough to serve, too few for another thread. */
const OPEN_FILES_MAX = 32

describe('without room for the thread that checks passwords', { skip: missing('prlimit') }, () => {
  it('a login is refused, and the log says what stopped the thread', async (t) => {
    const through = ['prlimit', `--nofile=${OPEN_FILES_MAX}:${OPEN_FILES_MAX}`]
    const server = await startExecutable(t, ['--data', await usedFolder(t)], { through })
    const { status } = await createClient(server.url)('POST', '/login', { body: admin })
    assert.equal(status, 503)
    assert.match(server.stderr(), /"event":"login_not_checked".*"reason":"[^"]*EMFILE"/)
  })
})
