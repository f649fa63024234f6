import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFile, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { crc32 } from 'node:zlib'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { seal } from '../../src/files/json-document.ts'
import { LINE_BYTES_MAX } from '../../src/limits.ts'
import { runCommand } from '../support/command.ts'
import { runExecutable } from '../support/executable.ts'
import { usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeUsedFolder, stateOfText } from './kept-state.ts'

const used = await makeUsedFolder({ after })
const { folder } = used

function backupBy(through: readonly string[], target: string) {
  return runExecutable(['backup', target, '--data', folder], { through })
}

/** Writes around the name, which would take seconds as a text. */
async function writeAccountsWithLongName(path: string, bytes: number): Promise<void> {
  const name = Buffer.alloc(bytes, 'x')
  const content = {
    lastGeneration: 1,
    users: [{ name: '|', secret: 'sha256:', generation: 1 }],
    clients: [],
  }
  const around = (document: object) => JSON.stringify(document).split('|')
  const [head = '', tail = ''] = around(content)
  const checksum = crc32(tail, crc32(name, crc32(head)))
    .toString(16)
    .padStart(8, '0')
  const [start = '', end = ''] = around({
    ...seal({ format: 'connbook accounts', version: 1 }, content),
    checksum,
  })
  await writeFile(path, [start, name, end])
}

describe('connbook backup', () => {
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

  it('refuses accounts too large for a restore to read back', async (t) => {
    const [folder, place] = [await usedFolder(t), await temporaryFolder(t)]
    await writeAccountsWithLongName(dataPaths(folder).file(dataFiles.accounts), LINE_BYTES_MAX)
    const { code, stderr } = await runCommand(['backup', join(place, 'target'), '--data', folder])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^connbook: Cannot keep the accounts of .+ in a backup: they take more than \d+ bytes/,
    )
    assert.deepEqual(await readdir(place), [])
  })

  it('writes to a pipe that is named like a file', async (t) => {
    const pipe = join(await temporaryFolder(t), 'pipe')
    execFileSync('mkfifo', [pipe])
    const [{ code, stdout, stderr }, text] = await Promise.all([
      runCommand(['backup', pipe, '--data', folder]),
      readFile(pipe, 'utf8'),
    ])
    assert.deepEqual([code, stdout, stderr], [0, '', ''])
    assert.deepEqual(
      stateOfText(text).accounts.users.map(({ name }) => name),
      stateOfText(await readFile(used.backup, 'utf8')).accounts.users.map(({ name }) => name),
    )
  })
})
