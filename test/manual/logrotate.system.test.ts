import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { missing } from '../support/debian.ts'
import { openReaderShell } from './host.ts'
import { readBlock } from './published.ts'

const LOG = '/var/log/connbook.log'

describe('the logrotate configuration of the manual', {
  skip: missing('logrotate') || missing('curl'),
}, () => {
  it('moves the old lines aside, and the server goes on in an emptied file', async (t) => {
    const shell = await openReaderShell(t)
    const log = join(shell.folder, 'connbook.log')
    const configuration = join(shell.folder, 'logrotate.conf')
    const published = readBlock('log', 'logrotate')
    assert.ok(published.startsWith(`${LOG} {`))
    await writeFile(configuration, published.replace(LOG, log))
    // logrotate takes no file that others can write.
    await chmod(configuration, 0o644)
    const run = async (command: string) => {
      const { text, code } = await shell.run(shell.moved(command))
      assert.equal(code, 0, text)
    }
    /** Makes a request, and waits for its line. */
    const ask = (id: string) =>
      run(`curl -sf -o answer.json -H 'X-Request-Id: ${id}' localhost:8080/healthz
until grep -q :.${id}. connbook.log; do sleep 0.05; done`)

    await run(`connbook --access-log 2>> connbook.log &
until curl -sf -o answer.json localhost:8080/readyz; do sleep 0.1; done`)
    await ask('before')
    await run(`PATH=$PATH:/usr/sbin logrotate --force --state "$PWD/state" ${configuration}`)
    await ask('after')

    assert.match(gunzipSync(await readFile(`${log}.1.gz`)).toString(), /"request_id":"before"/)
    const lines = (await readFile(log, 'utf8')).trimEnd().split('\n')
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { request_id?: string }).request_id),
      ['after'],
    )
  })
})
