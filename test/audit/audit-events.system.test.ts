import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { missing } from '../support/debian.ts'
import { runExecutable } from '../support/executable.ts'
import { start } from '../support/service.ts'
import { oneFileThread, underStrace } from '../support/strace.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { addedBy } from './trail.ts'

describe('a command', () => {
  it('does its work although its audit line cannot be written, and reports that', async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder })).stop()
    await appendFile(join(folder, 'audit.jsonl'), `${'x'.repeat(64 * 1024)}\n`)
    const through = ['/bin/sh', '-c', 'trap "" XFSZ; ulimit -f 100; exec "$0" "$@"']
    const added = await runExecutable(['client', 'add', 'ci', '--data', folder], { through })
    assert.equal(added.code, 0)
    assert.match(added.stdout, /^client_secret: /m)
    assert.match(
      added.stderr,
      /^\S+ error audit_not_written file=\S+audit\.jsonl reason="?[^\n]*EFBIG[^\n]*$/m,
    )
    const { stdout } = await runExecutable(['client', 'list', '--data', folder])
    assert.match(stdout, /^ci$/m)
  })
})

describe('a server', () => {
  it('records the completion of an interrupted restore', { skip: missing('strace') }, async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder })).stop()
    const backup = join(await temporaryFolder(t), 'backup.json')
    assert.equal((await runExecutable(['backup', backup, '--data', folder])).code, 0)
    const through = underStrace({ calls: 'rename', fault: 'signal=KILL', when: '8' })
    const killed = await runExecutable(['restore', backup, '--data', folder], {
      through,
      environment: oneFileThread,
    })
    assert.equal(killed.code, null)
    const added = await addedBy(folder, async () => (await start(t, { folder })).stop())
    assert.deepEqual(
      added.map(({ event }) => event),
      ['restored', 'started', 'stopped'],
    )
  })
})
