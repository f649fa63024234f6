import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { dataPaths } from '../../src/files/data-folder.ts'
import { keepBackupTime } from '../../src/folder/last-backup.ts'
import { METRICS_KEPT_MS } from '../../src/limits.ts'
import { runCommand } from '../support/command.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { holdClock } from '../support/held-clock.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('the time of the last backup', () => {
  it('is a metric from the first backup on, whatever that is written to, unless it fails', async (t) => {
    const folder = await temporaryFolder(t)
    const clock = holdClock(Date.now())
    const { url } = await start(t, { folder, clock, flags: ['--metrics-public'] })
    const ask = createClient(url)
    const shown = async () => {
      clock.advance(METRICS_KEPT_MS)
      const { text } = await ask('GET', '/metrics')
      return /^connbook_backup_last_timestamp_seconds (.*)$/m.exec(text)?.[1]
    }
    assert.equal(await shown(), undefined)
    assert.equal((await runCommand(['backup', '-', '--data', folder], { outputError: 'ENOSPC' })).code, 1)
    assert.equal(await shown(), undefined)

    const before = Math.floor(Date.now() / 1000)
    for (const target of [join(await temporaryFolder(t), 'backup.json'), '-', '/dev/null']) {
      const { code, stderr } = await runCommand(['backup', target, '--data', folder])
      assert.deepEqual([code, stderr], [0, ''])
      const value = Number(await shown())
      assert.ok(value >= before && value <= Date.now() / 1000, `${target}: ${value}`)
      await utimes(join(folder, '.last-backup'), 7, 7)
      assert.equal(await shown(), '7')
    }
  })

  it('is told to be unknown if it cannot be kept, but for a disk on which no server runs', async (t) => {
    for (const code of ['EACCES', 'EROFS']) {
      const files = createFailingFiles()
      failOn(files, 'open', '', code)
      let shown = ''
      await keepBackupTime(dataPaths(await temporaryFolder(t), files), { write: (text) => (shown += text) })
      if (code === 'EROFS') assert.equal(shown, '')
      else
        assert.match(
          shown,
          /^connbook: Warning: the metrics do not show .+ \(EACCES\); run the command as .+\n$/,
        )
    }
  })
})
