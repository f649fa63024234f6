import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { runCommand } from '../support/command.ts'
import { missing } from '../support/debian.ts'
import { start, usedFolder } from '../support/service.ts'
import { askSshAs } from '../support/ssh.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** As people have it. */
const real = {
  config: `# shared with the team
Include conf.d/*.conf ~/.ssh/none
User "ops"

Host bastion jump
  HostName bastion.example.net
  Port 2200
  ServerAliveInterval 30

Host *.internal db1 db2
  ProxyJump bastion
  Include in-host

Host db1 db2
  HostName %h.internal
  User postgres
  IdentityFile ~/.ssh/late

Host direct
  ProxyJump none

Host * !direct
  IdentityFile ~/.ssh/id_all
  ForwardAgent yes
`,
  'conf.d/10.conf': 'Host web1 web2\r\n  HostName=%h.example.net\r\n  User deploy\r\n',
  'conf.d/20.conf': 'Host web?\n  Port 2222\n  ProxyJump me@bastion:2200\n',
  'conf.d/.hidden.conf': 'Host never\n',
  'in-host':
    'IdentityFile "~/.ssh/id db"\nHost db2\n  Port 5433\nHost web1\n  IdentityFile ~/.ssh/not_here\n',
}

const notKept = [
  '  line 8: ServerAliveInterval cannot be kept: only HostName, Port, User, ProxyJump and IdentityFile can',
  '  line 17: IdentityFile is not the first; a record can keep one; so for 2 hosts',
  '  line 23: IdentityFile is not the first; a record can keep one; so for 2 hosts',
  '  line 24: ForwardAgent cannot be kept: only HostName, Port, User, ProxyJump and IdentityFile can',
]
const aliases = ['web1', 'web2', 'bastion', 'jump', 'db1', 'db2', 'direct']

/** The home of a user with files in `.ssh`. */
async function homeWith(t: TestContext, texts: Record<string, string>) {
  const home = await temporaryFolder(t)
  for (const [path, text] of Object.entries(texts)) {
    const file = join(home, '.ssh', path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return { home, config: join(home, '.ssh', 'config'), environment: { HOME: home } }
}

/** Tries an import of a configuration, and returns what is said about its faults. */
async function faultsOf(t: TestContext, texts: Record<string, string>, prepare?: (folder: string) => void) {
  const { home, config, environment } = await homeWith(t, texts)
  prepare?.(dirname(config))
  const data = join(home, 'data')
  const { code, stderr } = await runCommand(['import', config, '--dry-run', '--data', data], { environment })
  assert.equal(code, 1)
  return stderr.replaceAll(home, '~').trimEnd().split('\n').slice(1)
}

describe('connbook import of a real SSH configuration', { timeout: 60_000 }, () => {
  for (const isRunning of [false, true]) {
    it(`${isRunning ? 'beside a server ' : ''}means the same to ssh, but for what is named`, {
      skip: missing('ssh'),
    }, async (t) => {
      const { home, config, environment } = await homeWith(t, real)
      const folder = isRunning ? (await start(t)).folder.path : await usedFolder(t)
      const args = ['import', config, '--data', folder]
      const refused = await runCommand(args, { environment })
      assert.deepEqual(
        [refused.code, refused.stderr.trimEnd().split('\n')],
        [
          1,
          [
            `connbook: Cannot import ${config}: 4 faults; nothing has changed; correct them, or leave these lines and hosts out with --skip`,
            ...notKept,
          ],
        ],
      )
      const done = await runCommand([...args, '--skip', '--mode', 'replace'], { environment })
      assert.deepEqual(
        [done.code, done.stderr.trimEnd().split('\n')],
        [0, [`connbook: Left out of ${config}, for 4 faults:`, ...notKept]],
      )
      const { stdout } = await runCommand(['export', '--format', 'ssh-config', '--data', folder])
      const exported = join(home, 'exported')
      await writeFile(exported, stdout)
      assert.deepEqual(
        [...stdout.matchAll(/^Host (.*)$/gm)].map(([, name]) => name),
        aliases,
      )
      const wanted = await askSshAs(home, config, aliases)
      assert.deepEqual(
        await askSshAs(home, exported, aliases),
        wanted.map((meaning) => ({ ...meaning, identities: meaning.identities.slice(0, 1) })),
      )
    })
  }

  it('gives hosts without a username the one of --user', async (t) => {
    const { config, environment } = await homeWith(t, { config: 'Host a\nHost b\n  User own\n' })
    const folder = await usedFolder(t)
    const { code, stderr } = await runCommand(['import', config, '--user', 'ops', '--data', folder], {
      environment,
    })
    assert.deepEqual([code, stderr], [0, ''])
    const { stdout } = await runCommand(['export', '--format', 'csv', '--data', folder])
    assert.match(stdout, /\na,a,22,ops\r?\nb,b,22,own\r?\n$/)
  })

  it('names each file that an Include cannot bring in, and why', async (t) => {
    const deep = Object.fromEntries(
      Array.from({ length: 17 }, (_, i) => [`deep${i}`, `Include deep${i + 1}\n`] as const),
    )
    const faults = await faultsOf(
      t,
      {
        config: `Include d\nInclude fifo\nInclude /dev/zero\nInclude config\nInclude loop\nInclude deep0\nInclude ~x/y\nInclude latin\nInclude long\nInclude ""\nInclude\nInclude %d/x\nInclude "\${HOME}/x"\nHost a\n  User x\n`,
        'd/x': '',
        loop: 'Host *\n Include loop2\n',
        loop2: 'Include loop\n',
        ...deep,
        long: `Host long\n  User x\n  Port ${'1'.repeat(100_000)}\n  Port 2\n`,
      },
      (folder) => {
        execFileSync('mkfifo', [join(folder, 'fifo')])
        writeFileSync(join(folder, 'latin'), '# caf\u00e9\n', 'latin1')
      },
    )
    assert.deepEqual(faults, [
      '  line 1: Include "~/.ssh/d" cannot be read: it is not a plain file',
      '  line 2: Include "~/.ssh/fifo" cannot be read: it is not a plain file',
      '  line 3: Include "/dev/zero" cannot be read: it is not a plain file',
      '  line 4: Include "~/.ssh/config" includes itself',
      '  "~/.ssh/loop2", line 1: Include "~/.ssh/loop" includes itself by way of "~/.ssh/loop2"',
      '  "~/.ssh/deep15", line 1: Include "~/.ssh/deep16" is deeper than 16 files within each other, which ssh refuses',
      '  line 7: Include "~x/y" names the home of another account; write the path in full',
      '  line 8: Include "~/.ssh/latin" was not read to its end: The text is not valid UTF-8 at byte 0 or soon after',
      '  "~/.ssh/long", line 3: row is longer than 16384 characters',
      '  line 10: Include "" names an empty path',
      '  line 11: Include names nothing',
      '  line 12: Include "%d/x" has "%" or "${", which some versions of ssh replace; write the path in full',
      `  line 13: Include "\${HOME}/x" has "%" or "\${", which some versions of ssh replace; write the path in full`,
    ])
  })

  it('stops at an Include that would go on for ever', async (t) => {
    const texts: Record<string, string> = { config: 'Include l0\nHost a\n  User x\n' }
    for (let i = 0; i < 8; i++) texts[`l${i}`] = `Include l${i + 1}\n`.repeat(10)
    texts.l8 = ''
    const { home, config, environment } = await homeWith(t, texts)
    const { code, stderr } = await runCommand(['import', config, '--skip', '--data', join(home, 'data')], {
      environment,
    })
    assert.deepEqual(
      [code, stderr],
      [
        1,
        `connbook: Cannot import ${config}: It includes files more than 10000 times; nothing has changed\n`,
      ],
    )
  })

  it('changes nothing when --skip would leave nothing', async (t) => {
    for (const text of ['', 'Host *\n  User x\n', 'Host a\n', 'Match all\n  User x\n']) {
      const { home, config, environment } = await homeWith(t, { config: text })
      const args = ['import', config, '--mode', 'replace', '--data', join(home, 'data')]
      for (const skip of [[], ['--skip']]) {
        const { code, stderr } = await runCommand([...args, ...skip], { environment })
        assert.equal(code, 1, text)
        assert.match(
          stderr,
          /; nothing has changed; without what they name no host is left; correct some of them\n/,
        )
      }
    }
  })

  for (const flags of [['--skip'], ['--user', 'x']]) {
    it(`refuses ${flags[0]} for another format`, async (t) => {
      const data = await temporaryFolder(t)
      const args = ['import', '-', '--format', 'csv', ...flags, '--data', join(data, 'data')]
      const { code, stderr } = await runCommand(args)
      assert.deepEqual(
        [code, stderr],
        [2, `connbook: ${flags[0]} is for ssh-config only; this file is csv\n`],
      )
    })
  }
})
