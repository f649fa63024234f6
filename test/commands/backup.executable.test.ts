import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { copyFile, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { runExecutable } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeUsedFolder } from './kept-state.ts'

const used = await makeUsedFolder({ after })
const { folder } = used

function backupBy(through: readonly string[], target: string) {
  return runExecutable(['backup', target, '--data', folder], { through })
}

describe('connbook backup', { timeout: 60_000 }, () => {
  it('leaves the old backup whole when the disk is full', async (t) => {
    const place = await temporaryFolder(t)
    const target = join(place, 'backup.json')
    await copyFile(used.backup, target)
    const through = ['prlimit', '--fsize=500']
    const { code, stdout, stderr } = await backupBy(through, target)
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(
      stderr,
      `connbook: Cannot keep a backup in "${target}" (EFBIG); what was there before is untouched; raise the limit on file sizes\n`,
    )
    assert.equal(await readFile(target, 'utf8'), await readFile(used.backup, 'utf8'))
    assert.deepEqual(await readdir(place), ['backup.json'])
  })

  it('fails when standard output is a file that cannot take all of it', async (t) => {
    const target = join(await temporaryFolder(t), 'target')
    const whole = Buffer.byteLength((await runCommand(['backup', '-', '--data', folder])).stdout)
    for (const missingBytes of [1, 10, 22, 23, 100, whole - 1]) {
      const limit = `exec prlimit --fsize=${whole - missingBytes} "$0" "$@" > '${target}'`
      const { code } = await backupBy(['/bin/sh', '-c', limit], '-')
      assert.notEqual(code, 0, `${missingBytes} bytes are missing`)
    }
    const { code } = await backupBy(['/bin/sh', '-c', `exec "$0" "$@" > '${target}'`], '-')
    assert.deepEqual([code, (await stat(target)).size], [0, whole])
  })
})
