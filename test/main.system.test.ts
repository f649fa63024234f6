import './support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { helpFor } from '../src/command-line/help.ts'
import { commands } from '../src/commands/commands.ts'
import { dataFiles } from '../src/files/data-folder.ts'
import { version } from '../src/version.ts'
import { executable, runExecutable, toFullDevice } from './support/executable.ts'
import { asPlainAccount, giveToPlainAccount, plainAccount } from './support/plain-account.ts'
import { plainStyle } from './support/plain-style.ts'
import { usedFolder } from './support/service.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

describe('connbook', () => {
  for (const word of ['help', '--help', '-h']) {
    it(`${word} shows the help`, async () => {
      assert.deepEqual(await runExecutable([word]), {
        code: 0,
        stdout: helpFor(commands, [], plainStyle),
        stderr: '',
      })
    })
  }

  it('--version shows the version', async () => {
    const { code, stdout, stderr } = await runExecutable(['--version'])
    assert.deepEqual([code, stderr], [0, ''])
    // The first two words stay as they are: scripts read them.
    assert.deepEqual(stdout.split(' ').slice(0, 3), ['connbook', version, '(commit'])
  })

  it('exits with code 2 and one line for a word that is not UTF-8', async () => {
    const through = ['/bin/sh', '-c', 'exec "$@" "$(printf "import-\\377")"', 'sh']
    const { code, stdout, stderr } = await runExecutable([], { through })
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^connbook: Cannot read "import-\ufffd": it is not UTF-8[^\n]*\n$/)
  })

  it('ends silently when the reader of its output has gone', async () => {
    const child = spawn(executable, ['help'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    let stderr = ''
    child.stderr.on('data', (chunk) => (stderr += chunk))
    assert.deepEqual([...(await once(child, 'close')), stderr], [0, null, ''])
  })

  for (const word of ['help', '--version']) {
    it(`${word} reports a full disk`, async () => {
      const stderr = 'connbook: Cannot write to standard output (ENOSPC)\n'
      assert.deepEqual(await runExecutable([word], { through: toFullDevice }), {
        code: 1,
        stdout: '',
        stderr,
      })
    })
  }

  it('exits with code 2 and one line for an unusable certificate', async (t) => {
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
    'is corrupt': async (path) =>
      writeFile(path, (await readFile(path, 'latin1')).replace(/[a-z]/, 'X'), 'latin1'),
    'is missing': (path) => rm(path),
  }

  for (const file of [dataFiles.accounts, dataFiles.keys, dataFiles.revocations, dataFiles.journal]) {
    for (const [what, damage] of Object.entries(damages)) {
      if (file === dataFiles.accounts && what === 'is missing') continue
      it(`exits with code 65, naming file, offset and advice, when ${file} ${what}`, async (t) => {
        const folder = await usedFolder(t)
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
    'is a file': [(path) => writeFile(path, ''), /data": it is not a folder/],
    'is open to others and in use': [
      async (path) => {
        await mkdir(path)
        await writeFile(join(path, 'file'), '')
        await chmod(path, 0o755)
      },
      /others can get at it \(owner \d+, mode 0755\); use a folder of its own, such as '\/[^\n]+\/data\/connbook'/,
    ],
    'holds a folder under the name of a file': [
      async (path) => void (await mkdir(join(path, dataFiles.keys), { recursive: true, mode: 0o700 })),
      /keys\.json": it is not a plain file/,
    ],
  }

  for (const [what, [prepare, message]] of Object.entries(unfit)) {
    it(`exits with code 1 and one line when the data folder ${what}`, async (t) => {
      const path = join(await temporaryFolder(t), 'data')
      await prepare(path)
      const { code, stdout, stderr } = await runExecutable(['--port', '0', '--data', path])
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, message)
      assert.match(stderr, /^connbook: [^\n]+\n$/)
    })
  }

  const denied: Record<
    string,
    readonly [
      prepare: (folder: string) => Promise<void>,
      message: (folder: string) => string,
      isForCommands?: boolean,
    ]
  > = {
    'that it cannot write': [
      (folder) => chmod(folder, 0o500),
      (folder) =>
        `"${folder}": this account has no permission (EACCES) (owner ${plainAccount}, mode 0500); run: chmod 700 '${folder}'`,
    ],
    'with accounts that it cannot read': [
      (folder) => chmod(join(folder, dataFiles.accounts), 0),
      (folder) =>
        `"${join(folder, dataFiles.accounts)}": this account has no permission (EACCES) (owner ${plainAccount}, mode 0000); run: chmod 600 '${join(folder, dataFiles.accounts)}'`,
    ],
    'with a journal that it cannot write': [
      (folder) => chmod(join(folder, dataFiles.journal), 0o400),
      (folder) =>
        `"${join(folder, dataFiles.journal)}": this account has no permission (EACCES) (owner ${plainAccount}, mode 0400); run: chmod 600 '${join(folder, dataFiles.journal)}'`,
      false,
    ],
    'with a lock file that is no database': [
      (folder) => writeFile(join(folder, dataFiles.lock), 'garbage '.repeat(200)),
      () =>
        `lock": file is not a database (owner ${plainAccount}, mode 0600); make sure that no connbook uses the folder, and remove the file`,
    ],
    'with a lock file that it cannot open': [
      (folder) => chmod(join(folder, dataFiles.lock), 0),
      () =>
        `lock": unable to open database file (owner ${plainAccount}, mode 0000); make sure that no connbook uses the folder, and remove the file`,
    ],
  }

  for (const [what, [prepare, message, isForCommands = true]] of Object.entries(denied)) {
    it(`exits with code 1 and one line for a folder ${what}`, async (t) => {
      const folder = await usedFolder(t)
      await giveToPlainAccount(folder)
      await prepare(folder)
      for (const words of isForCommands ? ['--port 0', 'client add ci'] : ['--port 0']) {
        const args = [...words.split(' '), '--data', folder]
        const { code, stdout, stderr } = await runExecutable(args, { through: asPlainAccount })
        assert.deepEqual([code, stdout], [1, ''])
        assert.match(stderr, /^connbook: Cannot use "[^\n]+\n$/)
        assert.ok(stderr.includes(message(folder)), stderr)
      }
    })
  }

  it('names a folder that belongs to another account', { skip: process.getuid?.() !== 0 }, async (t) => {
    const folder = await usedFolder(t)
    for (const words of [
      ['--port', '0'],
      ['user', 'list'],
      ['user', 'remove', 'admin'],
    ]) {
      const { code, stderr } = await runExecutable([...words, '--data', folder], { through: asPlainAccount })
      assert.equal(code, 1)
      assert.match(
        stderr,
        /^connbook: Cannot use "[^\n]+ \(owner 0, mode 0700\); run as its owner, [^\n]+\n$/,
      )
      assert.ok(stderr.includes(`"${folder}"`))
    }
  })
})
