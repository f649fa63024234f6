import './support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { logIn } from './support/api.ts'
import { startExecutable } from './support/executable.ts'
import { createClient, recordsIn } from './support/http-client.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

it('the executable starts, lets in, stores a change, and has it and the session after kill -9', async (t) => {
  const data = join(await temporaryFolder(t), 'data')
  const first = await startExecutable(t, ['--data', data])
  const credentials: unknown = JSON.parse(await readFile(join(data, 'initial-credentials.json'), 'utf8'))
  const session = await logIn(first.url, credentials)
  const ask = createClient(first.url, session)
  const body = { name: 'db/main', hostname: '192.0.2.7', port: 22, username: 'ops' }
  assert.equal((await ask('POST', '/configurations/', { body })).status, 200)
  const changed = await ask('PATCH', '/configurations/db%2Fmain', { body: { port: 2222 } })
  assert.equal(changed.status, 200)
  assert.equal(await first.stop('SIGKILL'), 'SIGKILL')

  const second = await startExecutable(t, ['--data', data])
  const found = await createClient(second.url, session)('GET', '/configurations/')
  assert.deepEqual(recordsIn(found), recordsIn(changed))
  assert.equal(recordsIn(found)[0]?.port, 2222)
  assert.equal(await second.stop(), 0)
})
