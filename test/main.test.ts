import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { help } from '../src/cli/help.ts'
import { dataFiles } from '../src/files/data-folder.ts'
import { version } from '../src/version.ts'
import { executable, runExecutable } from './support/executable.ts'
import { start } from './support/service.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

describe('connbook', () => {
  for (const word of ['help', '--help', '-h']) {
    it(`${word} shows the help`, async () => {
      assert.deepEqual(await runExecutable([word]), { code: 0, stdout: help(), stderr: '' })
    })
  }

  it('--version shows the version', async () => {
    assert.deepEqual(await runExecutable(['--version']), {
      code: 0,
      stdout: `connbook ${version}\n`,
      stderr: '',
    })
  })

  it('has nothing to say to a reader that has gone', async () => {
    const child = spawn(executable, ['help'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    let stderr = ''
    child.stderr.on('data', (chunk) => (stderr += chunk))
    assert.deepEqual([...(await once(child, 'close')), stderr], [0, null, ''])
  })

  const misunderstood: Record<
    string,
    readonly [args: readonly string[], environment: NodeJS.ProcessEnv, message: string]
  > = {
    'an unknown command': [['start'], {}, 'Unknown command "start"; see connbook help'],
    'an empty command': [[''], {}, 'Unknown command ""; see connbook help'],
    'a word behind serve': [['serve', 'now'], {}, 'Unknown command "now"; see connbook help'],
    'a word behind the flags': [['--port', '0', 'now'], {}, 'Unknown command "now"; see connbook help'],
    'an unknown flag': [['--prot', '1'], {}, 'Unknown flag "--prot"; see connbook help'],
    'an unknown flag behind serve': [['serve', '-x'], {}, 'Unknown flag "-x"; see connbook help'],
    'a bad value': [['--port', 'x'], {}, 'Cannot use --port "x": it must be a number from 0 to 65535'],
    'a bad variable': [
      [],
      { CONNBOOK_PORT: 'x' },
      'Cannot use CONNBOOK_PORT "x": it must be a number from 0 to 65535',
    ],
    'a bad variable looked at last': [
      [],
      { PORT: 'x' },
      'Cannot use PORT "x": it must be a number from 0 to 65535',
    ],
    'a missing value': [['--data'], {}, 'The flag --data needs a value: --data FOLDER'],
    'half of TLS': [
      ['--tls-key', 'k'],
      {},
      'Cannot serve HTTPS with only one of --tls-cert and --tls-key; give both or neither',
    ],
  }
  for (const [what, [args, environment, message]] of Object.entries(misunderstood)) {
    it(`is exit 2 with one line for ${what}, and makes no folder`, async (t) => {
      const cwd = await temporaryFolder(t)
      const stderr = `connbook: ${message}\n`
      assert.deepEqual(await runExecutable(args, { cwd, environment }), { code: 2, stdout: '', stderr })
      await assert.rejects(readFile(join(cwd, 'data')), { code: 'ENOENT' })
    })
  }

  it('is exit 2 with one line for a certificate that cannot be used', async (t) => {
    const folder = await temporaryFolder(t)
    await writeFile(join(folder, 'bad.pem'), 'no PEM')
    for (const [file, reason] of [
      ['missing.pem', 'ENOENT'],
      ['bad.pem', 'PEM'],
    ] as const) {
      const path = join(folder, file)
      const { code, stderr } = await runExecutable([
        '--tls-cert',
        path,
        '--tls-key',
        path,
        '--data',
        join(folder, 'data'),
      ])
      assert.equal(code, 2)
      assert.match(
        stderr,
        new RegExp(`^connbook: Cannot (read|use) --tls-cert "${path}"[^\\n]*${reason}[^\\n]*\\n$`),
      )
    }
  })

  const damages: Record<string, (path: string) => Promise<void>> = {
    'is not what was written': async (path) =>
      writeFile(path, (await readFile(path, 'latin1')).replace(/[a-z]/, 'X'), 'latin1'),
    'is missing': (path) => rm(path),
  }
  for (const file of [dataFiles.accounts, dataFiles.keys, dataFiles.revocations, dataFiles.journal]) {
    for (const [what, damage] of Object.entries(damages)) {
      if (file === dataFiles.accounts && what === 'is missing') continue
      it(`is exit 65 with file, offset and advice when ${file} ${what}`, async (t) => {
        const folder = await temporaryFolder(t)
        await (await start(t, { folder })).stop()
        await damage(join(folder, file))
        const { code, stdout, stderr } = await runExecutable(['--port', '0', '--data', folder])
        assert.deepEqual([code, stdout], [65, ''])
        assert.match(
          stderr,
          new RegExp(`^connbook: Cannot read "${join(folder, file)}": .+ at byte \\d+; [^\\n]+\\n$`),
        )
      })
    }
  }

  const unfit: Record<string, readonly [prepare: (path: string) => Promise<void>, message: RegExp]> = {
    'is a file': [(path) => writeFile(path, ''), /Cannot make data folder/],
    'is open to others and in use': [
      async (path) => {
        await mkdir(path)
        await writeFile(join(path, 'file'), '')
        await chmod(path, 0o755)
      },
      /others can get at it \(owner \d+, mode 0755\); use a folder of its own, or run: chmod 700/,
    ],
    'holds a folder under the name of a file': [
      async (path) => void (await mkdir(join(path, dataFiles.keys), { recursive: true, mode: 0o700 })),
      /keys\.json": it is not a plain file/,
    ],
  }
  for (const [what, [prepare, message]] of Object.entries(unfit)) {
    it(`is exit 1 with one line when the data folder ${what}`, async (t) => {
      const path = join(await temporaryFolder(t), 'data')
      await prepare(path)
      const { code, stdout, stderr } = await runExecutable(['--port', '0', '--data', path])
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, message)
      assert.match(stderr, /^connbook: [^\n]+\n$/)
    })
  }
})
