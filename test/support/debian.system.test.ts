import './node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { isOlder, missing } from './debian.ts'
import { tools } from './debian-tools.mjs'
import { temporaryFolder } from './temporary-folder.ts'

const run = promisify(execFile)

/** Makes a command the only one on the PATH besides the shell's own, for as long as the test runs. */
async function onlyOnPath(t: TestContext, command: string, script: string) {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, command), `#!/bin/sh\n${script}\n`)
  await chmod(join(folder, command), 0o755)
  const { PATH } = process.env
  t.after(() => {
    process.env.PATH = PATH
  })
  process.env.PATH = `${folder}:/bin`
}

describe('a Debian tool', () => {
  it('that is missing is named with its package and the version that was tried', async (t) => {
    await onlyOnPath(t, 'sh-of-another-name', '')
    process.env.PATH = (process.env.PATH ?? '').replace(':/bin', '')
    assert.equal(
      missing('promtool'),
      'promtool is missing: apt-get install prometheus (tried with version 2.42)',
    )
  })

  it('that is there in any version is not missing', async (t) => {
    await onlyOnPath(t, 'promtool', '')
    assert.equal(missing('promtool'), false)
  })

  for (const [said, reason] of [
    ['OpenSSH_8.4p1 Debian-5', 'ssh 8.4 is too old: it must be 8.7 or later'],
    ['OpenSSH_8.7p1', false],
    ['OpenSSH_10.0p2', false],
    ['nothing', 'ssh 0.0 is too old: it must be 8.7 or later'],
  ] as const) {
    it(`that says "${said}" is ${reason === false ? 'taken' : 'too old'}`, async (t) => {
      await onlyOnPath(t, 'ssh', `echo '${said}' >&2`)
      assert.equal(missing('ssh'), reason)
    })
  }

  it('has versions that compare as numbers', () => {
    const older = [
      ['8.4', '8.7'],
      ['8.9', '8.10'],
      ['9.9', '10.0'],
    ] as const
    for (const [one, other] of older)
      assert.deepEqual([isOlder(one, other), isOlder(other, one), isOlder(one, one)], [true, false, false])
  })

  it('is listed for the gate, commands and packages', async () => {
    const list = async (word: string) => {
      const { stdout } = await run(process.execPath, [join(import.meta.dirname, 'debian-tools.mjs'), word])
      return stdout.trim().split('\n')
    }
    assert.deepEqual(await list('commands'), Object.keys(tools))
    const packages = await list('packages')
    assert.equal(new Set(packages).size, packages.length)
    assert.ok(packages.includes('openssh-client') && packages.includes('nginx-light'))
  })
})
