import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { checkDataFolder, dataPaths } from '../../src/files/data-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { assertOnlyPlainFiles, mode } from './refused-folder.ts'

describe('a folder that is open to others', () => {
  it('is refused with a command that can be pasted, whatever the name of the folder', async (t) => {
    const path = join(await temporaryFolder(t), "o'neil")
    await mkdir(path, 0o700)
    const file = join(path, 'keys.json')
    await writeFile(file, '', { mode: 0o600 })
    for (const [broken, command] of [
      [path, 'chmod 700'],
      [file, 'chmod 600'],
    ] as const) {
      await chmod(broken, 0o755)
      const { message } = await checkDataFolder(dataPaths(path)).then(
        () => assert.fail('taken'),
        (error: Error) => error,
      )
      execFileSync('sh', ['-c', message.split(' run: ')[1] ?? assert.fail(message)])
      assert.ok(message.includes(command))
      assert.equal(await mode(broken), command.slice(-3))
    }
  })
})

describe('a data file', () => {
  it('is refused when it is a fifo, for every data file', (t) =>
    assertOnlyPlainFiles(t, (path) => execFileSync('mkfifo', ['-m', '600', path])))
})
