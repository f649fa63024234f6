import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  appendFile,
  chmod,
  chown,
  copyFile,
  lstat,
  mkdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { valuesOf, wordsOf } from '../commands/unit-text.ts'
import { missing } from '../support/debian.ts'
import { executable, startExecutable } from '../support/executable.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'
import { pack, smallProgram } from './deb.ts'

const run = promisify(execFile)
/** An account as systemd makes one for DynamicUser=. */
const DYNAMIC_USER = 62_000
const WANTED = 'etc/systemd/system/multi-user.target.wants/connbook.service'

const skip =
  missing('dpkg-deb') ||
  missing('lintian') ||
  missing('mmdebstrap') ||
  (process.getuid?.() !== 0 && 'a root of its own needs root')

const isThere = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  )

// No systemd runs there. The real command changes links, and whatever it would ask of systemd is noted.
const SYSTEMCTL = `#!/bin/sh
case "$*" in
*--root=* | *is-enabled* | disable*) SYSTEMD_OFFLINE=1 exec systemctl.real "$@" ;;
*) echo "$*" >> /asked ;;
esac
`

/** A Debian with its essential packages, systemd, and the libraries that the package depends on. */
async function bareDebian(t: Lifetime) {
  const root = join(await temporaryFolder(t), 'root')
  const at = (path: string) => join(root, path)
  const suite = /^VERSION_CODENAME=(\w+)$/m.exec(await readFile('/etc/os-release', 'utf8'))?.[1] ?? ''
  const more = '--include=libstdc++6,libatomic1,systemd'
  await run('mmdebstrap', ['--mode=root', '--variant=essential', more, suite, root], { maxBuffer: 2 ** 26 })
  await chmod(root, 0o755)
  await mkdir(at('run/systemd/system'), { recursive: true })
  await rename(at('usr/bin/systemctl'), at('usr/bin/systemctl.real'))
  await writeFile(at('usr/bin/systemctl'), SYSTEMCTL)
  await chmod(at('usr/bin/systemctl'), 0o755)
  return {
    root,
    at,
    /** Runs a command in it as root, and gives all that it says. */
    async inside(...words: string[]): Promise<string> {
      const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' }
      const { stdout, stderr } = await run('chroot', [root, ...words], { env })
      return stdout + stderr
    },
    /** What systemd was asked to change since the last look. */
    async asked(): Promise<string[]> {
      const said = await readFile(at('asked'), 'utf8')
      await rm(at('asked'))
      return said.match(/\b(?:daemon-reload|start|restart|stop)\b/g) ?? []
    },
  }
}

describe('the package for Debian with the executable', { skip }, async () => {
  const first = await pack({ after }, executable, '0.1.0')

  it('is as lintian wants it, but for what it says itself', async (t) => {
    // It leaves files in the temporary folder.
    const env = { ...process.env, TMPDIR: await temporaryFolder(t) }
    const { stdout } = await run('lintian', ['--allow-root', '--fail-on=none', first], { env })
    assert.equal(stdout, '')
  })

  it('is installed, started, upgraded, removed and purged on a bare Debian, and leaves the records', async (t) => {
    const { root, at, inside, asked } = await bareDebian(t)
    await copyFile(first, at('first.deb'))
    await copyFile(await pack(t, await smallProgram(t), '0.1.1'), at('second.deb'))

    await inside('dpkg', '--install', '/first.deb')
    assert.match(await inside('connbook', '--version'), /^connbook /)
    assert.deepEqual(await asked(), ['daemon-reload', 'start'])
    assert.ok(await isThere(at(WANTED)))
    const options = await readFile(at('etc/default/connbook'), 'utf8')
    assert.match(options, /^CONNBOOK_HOST=127\.0\.0\.1$/m)

    // As systemd makes it, but for the access to /var/lib/private, which only the unit's own mounts give.
    await mkdir(at('var/lib/private/connbook'), { recursive: true })
    await chmod(at('var/lib/private'), 0o755)
    await chown(at('var/lib/private/connbook'), DYNAMIC_USER, DYNAMIC_USER)
    await symlink('private/connbook', at('var/lib/connbook'))
    const unit = await readFile(at('usr/lib/systemd/system/connbook.service'), 'utf8')
    const given = Array.from(options.matchAll(/^(\w+)=(.*)$/gm), ([, name = '', value = '']) => [name, value])
    const server = await startExecutable(t, [], {
      program: wordsOf(valuesOf(unit, 'ExecStart')[0] ?? ''),
      place: [],
      through: ['chroot', `--userspec=${DYNAMIC_USER}:${DYNAMIC_USER}`, root],
      environment: { ...Object.fromEntries(given), CONNBOOK_PORT: '0' },
    })
    assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+$/)
    const inData = ['--data', '/var/lib/connbook']
    await inside('connbook', 'add', 'web1', '--hostname', 'h', '--port', '22', '--username', 'u', ...inData)
    assert.equal(await server.stop(), 0)
    assert.match(await inside('connbook', 'export', '--format', 'jsonl', ...inData), /"web1"/)

    await appendFile(at('etc/default/connbook'), 'CONNBOOK_ACCESS_LOG=true\n')
    await inside('systemctl', 'disable', 'connbook')
    assert.ok(!(await isThere(at(WANTED))))
    await inside('dpkg', '--install', '/second.deb')
    assert.match(await inside('dpkg-query', '--show', 'connbook'), /\t0\.1\.1$/m)
    assert.deepEqual(await asked(), ['daemon-reload', 'restart'])
    assert.ok(!(await isThere(at(WANTED))))
    assert.equal(await readFile(at('etc/default/connbook'), 'utf8'), `${options}CONNBOOK_ACCESS_LOG=true\n`)

    await inside('dpkg', '--remove', 'connbook')
    assert.deepEqual(await asked(), ['stop', 'daemon-reload'])
    assert.deepEqual(await Promise.all([at('usr/bin/connbook'), at('etc/default/connbook')].map(isThere)), [
      false,
      true,
    ])
    assert.match(await inside('dpkg', '--purge', 'connbook'), /The records stay in \/var\/lib\/connbook/)
    assert.ok(!(await isThere(at('etc/default/connbook'))))
    assert.ok((await lstat(at('var/lib/private/connbook/journal.jsonl'))).size > 0)
    assert.ok(await isThere(at('var/lib/connbook')))
  })
})
