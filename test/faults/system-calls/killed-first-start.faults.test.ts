import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { getToken } from '../../support/api.ts'
import { missing } from '../../support/debian.ts'
import { startExecutable } from '../../support/executable.ts'
import { createClient } from '../../support/http-client.ts'
import { oneFileThread, underStrace } from '../../support/strace.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { checkEntries, nothing, readCredentials } from './used-folder.ts'

/** `file` as in `KillPoints`. */
const points: readonly { call: string; file?: string }[] = [
  { call: 'mkdir' },
  { call: 'fsync' },
  { call: 'pwrite64' },
  { call: 'rename' },
  { call: 'openat', file: '.' },
  { call: 'openat', file: dataFiles.lock },
  { call: 'openat', file: dataFiles.revocations },
  { call: 'openat', file: dataFiles.snapshot },
  { call: 'openat', file: dataFiles.journalOld },
  { call: 'openat', file: dataFiles.journal },
]

describe('the first start on a disk that fails once', { skip: missing('strace') }, () => {
  for (const { call, file } of points) {
    it(`at ${call} ${file ?? ''} ends with one line about it, and the next start succeeds`, async (t) => {
      for (let when = 1; await failAt(t, call, file, when); when++);
    })
  }
})

/** @returns Whether there was such a call. */
async function failAt(t: TestContext, call: string, file: string | undefined, when: number) {
  const error = when % 2 === 0 ? 'ENOSPC' : 'EIO'
  const folder = await temporaryFolder(t)
  const data = join(folder, 'data')
  const log = join(folder, 'strace.log')
  const path = file === undefined ? {} : { path: join(data, file) }
  const injection = { calls: call, fault: `error=${error}`, when: String(when), ...path }
  const what = `${call} ${when}`
  try {
    const through = underStrace(injection, log)
    const server = await startExecutable(t, ['--data', data], { environment: oneFileThread, through })
    await server.stop()
    if (!(await readFile(log, 'utf8')).includes('(INJECTED)')) return false
    // A failure in the background does not end the start: it is logged and the work is retried.
    assert.match(server.stderr(), /"level":"error"/, what)
  } catch (refusal) {
    const text = refusal instanceof Error ? refusal.message : String(refusal)
    assert.match(text, /^exit 1: (\{.*\}\n)*connbook: Cannot .+\n$/, what)
    assert.ok(text.includes(error) || file?.endsWith('lock'), `${what}: ${text}`)
  }
  const next = await startExecutable(t, ['--data', data])
  const bearer = await getToken(next.url, await readCredentials(data))
  assert.equal((await createClient(next.url, bearer)('GET', '/configurations/')).status, 200, what)
  assert.equal(await next.stop(), 0)
  await checkEntries(data, nothing)
  return true
}
