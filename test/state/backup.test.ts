import '../support/node-version.ts'
import assert from 'node:assert/strict'
import '../support/light-argon2.ts'
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { realFileSystem } from '../../src/files/file-system.ts'
import { METRICS_KEPT_MS } from '../../src/resources/metrics.ts'
import { checkTarget, writeToFile } from '../../src/state/backup.ts'
import { BACKUP_START, writeBackup } from '../../src/state/backup-document.ts'
import { runCommand } from '../support/command.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { holdClock } from '../support/held-clock.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { smallBackup } from './small-backup.ts'

const never = new AbortController().signal

const writeSmall = (print: (text: string) => Promise<void>) => writeBackup(smallBackup, print)

describe('checkTarget', () => {
  it('accepts a new file, an empty one and another backup', async (t) => {
    const [place, folder] = [await temporaryFolder(t), await temporaryFolder(t)]
    await writeFile(join(place, 'empty'), '')
    await writeFile(join(place, 'old'), `${BACKUP_START}whatever`)
    for (const name of ['new', 'empty', 'old']) await checkTarget(join(place, name), folder)
  })

  it('refuses a file that is not a backup, a folder, a link, and any path in the data folder', async (t) => {
    const [place, folder] = [await temporaryFolder(t), await temporaryFolder(t)]
    await writeFile(join(place, 'other'), BACKUP_START.slice(0, -1))
    await mkdir(join(place, 'folder'))
    await symlink(join(place, 'other'), join(place, 'link'))
    await symlink(folder, join(place, 'data'))
    for (const name of ['inner', '..inner']) await mkdir(join(folder, name))
    const rows = [
      [join(place, 'other'), /there is a file that is no backup/],
      [join(place, 'folder'), /it is not a plain file/],
      [join(place, 'link'), /it is not a plain file/],
      [join(place, 'data', 'new'), /it is in the data folder itself/],
      [join(folder, 'inner', 'new'), /it is in the data folder itself/],
      [join(folder, '..inner', 'new'), /it is in the data folder itself/],
    ] as const
    for (const [path, reason] of rows) {
      await assert.rejects(checkTarget(path, folder), (error) => {
        assert.match(String(error), reason)
        return error instanceof Error && 'code' in error && error.code === 'backup_failed'
      })
    }
  })

  it('accepts a path beside the data folder, even if its name begins with that of the folder', async (t) => {
    const place = await temporaryFolder(t)
    await mkdir(join(place, 'data'))
    await checkTarget(join(place, 'data.json'), join(place, 'data'))
  })
})

describe('writeToFile', () => {
  it('replaces the last file by a private one, atomically', async (t) => {
    const place = await temporaryFolder(t)
    const target = join(place, 'backup.json')
    await writeFile(target, 'old')
    await chmod(target, 0o644)
    const files = createFailingFiles()
    for (const operation of ['write', 'sync', 'rename'] as const) {
      failOn(files, operation, 'backup.json', 'ENOSPC')
      const written = writeToFile(target, writeSmall, never, files)
      await assert.rejects(written, /\(ENOSPC\); what was there before is untouched; make room there$/)
      assert.deepEqual([await readFile(target, 'utf8'), await readdir(place)], ['old', ['backup.json']])
    }
    files.before = () => {}
    await writeToFile(target, writeSmall, never, files)
    assert.ok((await readFile(target, 'utf8')).startsWith(BACKUP_START))
    assert.equal((await stat(target)).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(place), ['backup.json'])
  })

  it('ends when interrupted, reports the reason and leaves no file', async (t) => {
    const place = await temporaryFolder(t)
    const interruption = AbortSignal.abort('SIGINT')
    await assert.rejects(
      writeToFile(join(place, 'a'), writeSmall, interruption, realFileSystem),
      /\(SIGINT\); what was there/,
    )
    assert.deepEqual(await readdir(place), [])
  })

  it('removes only what a killed backup to the same file left more than an hour ago', async (t) => {
    const place = await temporaryFolder(t)
    const [old, young, other] = ['.a.0123456789ab.tmp', '.a.0123456789ac.tmp', '.b.0123456789ab.tmp'] as const
    for (const [name, minutes] of [
      [old, 61],
      [young, 59],
      [other, 61],
    ] as const) {
      await writeFile(join(place, name), '')
      const moment = Date.now() / 1000 - minutes * 60
      await utimes(join(place, name), moment, moment)
    }
    await writeToFile(join(place, 'a'), writeSmall, never, realFileSystem)
    assert.deepEqual((await readdir(place)).sort(), [young, other, 'a'].sort())
  })

  it('advises how to create a missing folder', async (t) => {
    const folder = await temporaryFolder(t)
    await rm(folder, { recursive: true })
    await assert.rejects(
      writeToFile(join(folder, 'a'), writeSmall, never, realFileSystem),
      /\(ENOENT\).*; make its folder first$/,
    )
  })
})

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
    }
  })
})
