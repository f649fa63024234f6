import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readSecretVariable } from '../../src/auth/secret.ts'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { startService } from '../../src/service/service.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'

async function makePipe(t: Lifetime): Promise<string> {
  const path = join(await temporaryFolder(t), 'pipe')
  execFileSync('mkfifo', [path])
  return path
}

describe('the secret of a variable in a pipe', () => {
  it('is read once somebody writes it', async (t) => {
    const path = await makePipe(t)
    const reading = readSecretVariable('KEY', { KEY_FILE: path })
    await writeFile(path, 'secret\n')
    assert.equal(await reading, 'secret')
  })

  it('holds up no start that is to end', async (t) => {
    const environment = { CONNBOOK_ADMIN_PASSWORD_FILE: await makePipe(t) }
    const args = ['--data', await temporaryFolder(t), '--host', '127.0.0.1', '--port', '0']
    const { options } = parseCommandLine(args, {}, serverFlags)
    const stopping = new AbortController()
    const reason = new Error('made by the test')
    const { signal } = stopping
    const log = createMemoryLog()
    const starting = startService({ options, environment, log, signal })
    stopping.abort(reason)
    await assert.rejects(starting, reason)
  })
})
