import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { getToken } from '../support/api.ts'
import { startExecutable } from '../support/executable.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const JOURNAL_BYTES_MAX = 10_000

describe('a file that may not grow', () => {
  it('refuses changes with 507, keeps answering, and takes them again without a restart', async (t) => {
    const data = join(await temporaryFolder(t), 'data')
    const limit = ['prlimit', `--fsize=${JOURNAL_BYTES_MAX}:unlimited`]
    const first = await startExecutable(t, ['--data', data], { through: limit })
    const credentials: unknown = JSON.parse(await readFile(join(data, 'initial-credentials.json'), 'utf8'))
    const bearer = await getToken(first.url, credentials)
    const ask = createClient(first.url, bearer)
    const add = (name: string) =>
      ask('POST', '/configurations/', { body: { name, hostname: 'example.net', port: 22, username: 'u' } })

    const added: string[] = []
    let refused = await add('n0')
    while (refused.status === 200 && added.length < JOURNAL_BYTES_MAX) {
      added.push(`n${added.length}`)
      refused = await add(`n${added.length}`)
    }
    assert.equal(refused.status, 507, refused.text)
    assert.equal(refused.headers['content-type'], 'application/problem+json')
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), added)
    assert.equal((await readFile(join(data, 'journal.jsonl'))).at(-1), 0x0a, 'a part of a line was left')

    await promisify(execFile)('prlimit', ['--pid', String(first.process.pid), '--fsize=unlimited'])
    assert.equal((await add('later')).status, 200)
    await first.stop('SIGKILL')

    const second = await startExecutable(t, ['--data', data])
    const found = await createClient(second.url, bearer)('GET', '/configurations/')
    assert.deepEqual(namesIn(found), [...added, 'later'])
  })
})
