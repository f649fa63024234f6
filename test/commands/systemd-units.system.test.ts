import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, link, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { runCommand } from '../support/command.ts'
import { missing } from '../support/debian.ts'
import { executable, runExecutable } from '../support/executable.ts'
import { complaints, EXPOSURE_MAX, exposure } from '../support/systemd-analyze.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { service, valuesOf, wordsOf } from './unit-text.ts'

const run = promisify(execFile)
const skip = missing('systemd-analyze')
/** Puts the executable into a new folder. */
async function copyTo(folder: string): Promise<string> {
  await mkdir(folder)
  const copy = join(folder, 'connbook')
  await link(executable, copy).catch(() => copyFile(executable, copy))
  return copy
}

async function write(t: TestContext, name: string, unit: string): Promise<string> {
  const file = join(await temporaryFolder(t), name)
  await writeFile(file, unit)
  return file
}

describe('connbook systemd', { skip }, () => {
  const commandLines = [
    [],
    ['--port', '443', '--access-log'],
    ['--data', '/srv/connbook'],
    ['--data', '/home/ops/100% $HOME "quoted" \\ it\'s é'],
    ['--tls-cert', 'cert.pem', '--tls-key', 'key.pem', '--shutdown-timeout', '2m'],
    ['--listen', 'unix:/run/connbook/http', '--trust-proxy', 'unix', '--trust-proxy', '::1'],
  ]
  for (const args of commandLines) {
    it(`prints a unit that systemd accepts and rates as safe, for ${args.join(' ') || 'no flags'}`, async (t) => {
      const { code, stdout, stderr } = await runExecutable(['systemd', ...args])
      assert.deepEqual([code, stderr], [0, ''])
      const file = await write(t, 'connbook.service', stdout)
      assert.equal(await complaints(file), '')
      assert.ok((await exposure(file)) <= EXPOSURE_MAX)
      // The installed path is one that everybody can reach, not a temporary folder.
      const installed = await write(t, 'connbook.service', service(...args))
      assert.ok((await exposure(installed)) <= EXPOSURE_MAX)
    })
  }

  it('starts the executable in any folder, whatever its name', async (t) => {
    const copy = await copyTo(join(await temporaryFolder(t), '100% $HOME é; '))
    const { stdout } = await run(copy, ['systemd'])
    assert.equal(wordsOf(valuesOf(stdout, 'ExecStart')[0] ?? '')[0], copy)
    assert.equal(await complaints(await write(t, 'connbook.service', stdout)), '')
    const elsewhere = stdout.replace('/connbook" ', '/gone" ')
    assert.notEqual(await complaints(await write(t, 'connbook.service', elsewhere)), '')
  })

  it('refuses a path from which systemd starts no program', async (t) => {
    for (const name of ["it's", '"', '\\']) {
      const copy = await copyTo(join(await temporaryFolder(t), name))
      await assert.rejects(run(copy, ['systemd']), {
        code: 2,
        stderr: `connbook: Cannot have systemd start ${copy}: it takes no program with a quote or a backslash in its path; put it elsewhere\n`,
      })
    }
  })

  it('prints with --socket a socket unit that systemd accepts', async (t) => {
    const own = await runExecutable(['systemd'])
    const serviceFile = await write(t, 'connbook.service', own.stdout)
    for (const [args, expected] of [
      [[], '8080'],
      [['--port', '443', '--host', '::1'], '[::1]:443'],
      [['--port', '1', '--host', '127.0.0.1'], '127.0.0.1:1'],
      [['--listen', 'unix:/run/100% $HOME/x y'], '/run/100%% $HOME/x y'],
    ] as const) {
      const { code, stdout } = await runCommand(['systemd', '--socket', ...args])
      assert.equal(code, 0)
      assert.deepEqual(valuesOf(stdout, 'ListenStream'), [expected])
      const file = join(serviceFile, '..', 'connbook.socket')
      await writeFile(file, stdout)
      assert.equal(await complaints(file, serviceFile), '')
    }
  })

  it('refuses wrong usage, and text that a unit cannot hold', async () => {
    for (const [args, reason] of [
      [['serve'], 'Write it as: connbook systemd'],
      [['--port', 'x'], 'Cannot use --port "x"'],
      [['--read-only'], 'Unknown flag "--read-only"'],
      [['--data', 'a\nb'], 'Cannot use --data "a\\u000ab": it must be a path without control characters'],
      [['--etcd-user', 'a\nb'], 'Cannot write "a\\nb" into a unit: it has a control character'],
      [['--socket', '--listen', 'unix:a\tb'], 'Cannot use --listen "unix:a\\u0009b"'],
      [['--socket', '--host', 'localhost'], 'Cannot make the unit of a socket for --host "localhost"'],
    ] as const) {
      const { code, stdout, stderr } = await runExecutable(['systemd', ...args])
      assert.deepEqual([code, stdout], [2, ''])
      assert.ok(stderr.startsWith(`connbook: ${reason}`), stderr)
    }
  })
})
