import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFile, copyFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { makeDeb } from '../../.build/deb.mjs'
import { missing } from '../support/debian.ts'
import { executable } from '../support/executable.ts'
import { isFull } from '../support/is-full.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const arch = process.arch === 'arm64' ? 'arm64' : 'amd64'

/** @param program What is packed as connbook. */
async function pack(t: Lifetime, program: string, version: string): Promise<string> {
  const workshop = await temporaryFolder(t)
  const licences = await readFile(`${executable}.licenses.txt`, 'utf8')
  return makeDeb({ executable: program, licences, version, arch, workshop })
}

/** A small program in the place of the executable, which takes long to pack. */
async function smallProgram(t: Lifetime): Promise<string> {
  const path = join(await temporaryFolder(t), 'connbook')
  await writeFile(path, '#!/bin/sh\n', { mode: 0o755 })
  return path
}

describe('the package for Debian', { skip: missing('dpkg-deb') }, () => {
  it('has the same bytes for the same executable, whoever packs it', async (t) => {
    const program = await smallProgram(t)
    const before = process.umask(0o027)
    const first = await pack(t, program, '1.2.3').finally(() => process.umask(before))
    const second = await pack(t, program, '1.2.3')
    assert.equal(basename(first), `connbook_1.2.3_${arch}.deb`)
    assert.deepEqual(await readFile(first), await readFile(second))
  })

  it('has a program, a unit, options, man pages, completions and notices, all of root', async (t) => {
    const made = await pack(t, await smallProgram(t), '1.2.3')
    const { stdout } = await run('dpkg-deb', ['--contents', made])
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/\s+/))
    for (const [mode, owner, , , , path = ''] of rows) {
      const expected = path.endsWith('/')
        ? 'drwxr-xr-x'
        : path === './usr/bin/connbook'
          ? '-rwxr-xr-x'
          : '-rw-r--r--'
      assert.deepEqual([mode, owner], [expected, 'root/root'], path)
    }
    const paths = rows.map(([, , , , , path]) => path)
    for (const path of [
      'etc/default/connbook',
      'usr/lib/systemd/system/connbook.service',
      'usr/share/man/man1/connbook-ls.1.gz',
      'usr/share/man/man7/connbook-backup.7.gz',
      'usr/share/bash-completion/completions/connbook',
      'usr/share/zsh/vendor-completions/_connbook',
      'usr/share/fish/vendor_completions.d/connbook.fish',
      'usr/share/doc/connbook/copyright',
    ])
      assert.ok(paths.includes(`./${path}`), path)
    const folder = await temporaryFolder(t)
    await run('dpkg-deb', ['--extract', made, folder])
    const unit = await readFile(join(folder, 'usr/lib/systemd/system/connbook.service'), 'utf8')
    for (const line of [
      'DynamicUser=yes',
      'StateDirectory=connbook',
      'EnvironmentFile=-/etc/default/connbook',
    ])
      assert.ok(unit.includes(`\n${line}\n`), line)
    assert.ok(unit.includes('\nExecStart=/usr/bin/connbook --data=/var/lib/connbook\n'))
  })

  it('says which program is missing to make it', async (t) => {
    const program = await smallProgram(t)
    const path = process.env.PATH
    process.env.PATH = ''
    try {
      await assert.rejects(
        pack(t, program, '1.2.3'),
        /Cannot make .*connbook_1\.2\.3_.*: dpkg-deb is missing/,
      )
    } finally {
      process.env.PATH = path
    }
  })

  const skip =
    (!isFull && 'it takes minutes') ||
    missing('lintian') ||
    missing('mmdebstrap') ||
    (process.getuid?.() !== 0 && 'a root of its own needs root')
  it('is installed, upgraded and purged in a bare Debian, and keeps the records', {
    skip,
    timeout: 580_000,
  }, async (t) => {
    const [first, second] = [await pack(t, executable, '0.1.0'), await pack(t, executable, '0.1.1')]
    const { stdout: found } = await run('lintian', ['--allow-root', first])
    assert.equal(found, '')

    const root = join(await temporaryFolder(t), 'root')
    const suite = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1] ?? ''
    const more = '--include=libstdc++6,libatomic1,init-system-helpers'
    await run('mmdebstrap', ['--mode=root', '--variant=essential', more, suite, root], { maxBuffer: 2 ** 26 })
    const inRoot = async (...words: string[]) => {
      const { stdout, stderr } = await run('chroot', [root, ...words], {
        env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      })
      return stdout + stderr
    }
    for (const [name, path] of [
      ['first.deb', first],
      ['second.deb', second],
    ] as const)
      await copyFile(path, join(root, name))

    await inRoot('dpkg', '--install', '/first.deb')
    assert.match(await inRoot('connbook', '--version'), /^connbook /)
    assert.ok(
      (await stat(join(root, 'etc/systemd/system/multi-user.target.wants/connbook.service'))).isFile(),
    )
    const options = join(root, 'etc/default/connbook')
    assert.match(await readFile(options, 'utf8'), /^CONNBOOK_HOST=127\.0\.0\.1$/m)
    await appendFile(options, 'CONNBOOK_PORT=8181\n')
    const records = join(root, 'var/lib/connbook')
    await mkdir(records, { mode: 0o700 })
    await inRoot(
      'sh',
      '-c',
      "printf 'name,hostname,port,username\\nweb1,h,22,u\\n' | connbook import - --format csv --data /var/lib/connbook",
    )

    await inRoot('dpkg', '--install', '/second.deb')
    assert.match(await readFile(options, 'utf8'), /^CONNBOOK_PORT=8181$/m)
    assert.match(await inRoot('dpkg-query', '--show', 'connbook'), /0\.1\.1$/m)
    assert.match(
      await inRoot('connbook', 'export', '--format', 'jsonl', '--data', '/var/lib/connbook'),
      /"web1"/,
    )

    await inRoot('dpkg', '--remove', 'connbook')
    await assert.rejects(stat(join(root, 'usr/bin/connbook')), { code: 'ENOENT' })
    assert.match(await readFile(options, 'utf8'), /8181/)
    assert.match(await inRoot('dpkg', '--purge', 'connbook'), /The records stay in \/var\/lib\/connbook/)
    await assert.rejects(stat(options), { code: 'ENOENT' })
    assert.ok((await stat(join(records, 'journal.jsonl'))).size > 0)
    await rm(root, { recursive: true })
  })
})
