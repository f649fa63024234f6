import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { faultsOf, homeWith } from './ssh-home.ts'

describe('connbook import of a real SSH configuration', () => {
  it('gives hosts without a username the one of --user', async (t) => {
    const { config, environment } = await homeWith(t, { config: 'Host a\nHost b\n  User own\n' })
    const folder = await usedFolder(t)
    const { code, stderr } = await runCommand(['import', config, '--user', 'ops', '--data', folder], {
      environment,
    })
    assert.equal(code, 0, stderr)
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
        config: `Include d\nInclude /dev/zero\nInclude config\nInclude loop\nInclude deep0\nInclude ~x/y\nInclude latin\nInclude long\nInclude ""\nInclude\nInclude %d/x\nInclude "\${HOME}/x"\nHost a\n  User x\n`,
        'd/x': '',
        loop: 'Host *\n Include loop2\n',
        loop2: 'Include loop\n',
        ...deep,
        long: `Host long\n  User x\n  Port ${'1'.repeat(100_000)}\n  Port 2\n`,
      },
      (folder) => writeFile(join(folder, 'latin'), '# caf\u00e9\n', 'latin1'),
    )
    assert.deepEqual(faults, [
      '  line 1: Include "~/.ssh/d" cannot be read: it is not a plain file',
      '  line 2: Include "/dev/zero" cannot be read: it is not a plain file',
      '  line 3: Include "~/.ssh/config" includes itself',
      '  "~/.ssh/loop2", line 1: Include "~/.ssh/loop" includes itself by way of "~/.ssh/loop2"',
      '  "~/.ssh/deep15", line 1: Include "~/.ssh/deep16" is deeper than 16 files within each other, which ssh refuses',
      '  line 6: Include "~x/y" names the home of another account; write the path in full',
      '  line 7: Include "~/.ssh/latin" was not read to its end: Line 1 is not valid UTF-8; if it is Windows-1252, as from Excel, give the command --encoding windows-1252, or convert it with: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW',
      '  "~/.ssh/long", line 3: row is longer than 16384 characters',
      '  line 9: Include "" names an empty path',
      '  line 10: Include names nothing',
      '  line 11: Include "%d/x" has "%" or "${", which some versions of ssh replace; write the path in full',
      `  line 12: Include "\${HOME}/x" has "%" or "\${", which some versions of ssh replace; write the path in full`,
    ])
  })

  it('changes nothing when --skip would leave nothing', async (t) => {
    for (const text of ['', 'Host *\n  User x\n', 'Host a\n  Port 0\n', 'Match all\n  User x\n']) {
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

  it('refuses --user for another format', async (t) => {
    const data = await temporaryFolder(t)
    const args = ['import', '-', '--format', 'csv', '--user', 'x', '--data', join(data, 'data')]
    const { code, stderr } = await runCommand(args)
    assert.deepEqual([code, stderr], [2, 'connbook: --user is for ssh-config only; this file is csv\n'])
  })

  it('gives hosts without a username the account that runs it, and says so once', async (t) => {
    const { config, environment } = await homeWith(t, { config: 'Host a b\nHost c\n  User own\nHost d\n' })
    const folder = await usedFolder(t)
    const { code, stderr } = await runCommand(['import', config, '--data', folder], {
      environment: { ...environment, SUDO_USER: 'jane' },
    })
    assert.equal(code, 0, stderr)
    assert.equal(
      stderr.split('\n')[0],
      `connbook: ${config}: 3 hosts without User get "jane", the account that runs this; --user says another`,
    )
    const { stdout } = await runCommand(['export', '--format', 'csv', '--data', folder])
    assert.match(stdout, /\na,a,22,jane\r?\nb,b,22,jane\r?\nc,c,22,own\r?\nd,d,22,jane\r?\n$/)
  })

  it('names faults of one kind once, what changes the way first, with and without --skip', async (t) => {
    const hosts = Array.from(
      { length: 300 },
      (_, i) => `Host h${i}\n  User u\n  ProxyCommand nc -x proxy %h %p\n  X y\n`,
    )
    const { home, config, environment } = await homeWith(t, {
      config: `${hosts.join('')}Host good\n  User u\nMatch user x\n  Port 1\n`,
    })
    const args = ['import', config, '--data', join(home, 'data')]
    const refused = await runCommand(args, { environment })
    const faults = [
      '  lines 3, 7, 11 and 297 more: ProxyCommand cannot be kept: it names a program that ssh needs to connect; ProxyJump HOST, or exactly ssh -W %h:%p HOST, can be kept',
      '  line 1203: Match cannot be followed, nor the lines up to the next Host or Match: only all, host and originalhost can',
      '  lines 4, 8, 12 and 297 more: X is not a keyword of ssh that connbook knows',
    ]
    assert.deepEqual(refused.stderr.trimEnd().split('\n'), [
      `connbook: Cannot import ${config}: 601 faults; nothing has changed; correct them, or leave these lines and hosts out with --skip`,
      ...faults,
    ])
    const done = await runCommand([...args, '--skip'], { environment })
    const [first = '', second = ''] = faults
    assert.deepEqual(done.stderr.trimEnd().split('\n').slice(0, -2), [
      `connbook: Left out of ${config}, for 901 faults:`,
      '  lines 1, 5, 9 and 297 more: Host cannot be reached without its ProxyCommand',
      ...[first, second],
      ...faults.slice(2),
    ])
    assert.match(done.stderr, /: 1 added, 0 modified, 0 removed, 0 unchanged\n$/)
  })
  it('says how many more faults there are than it names, with and without --skip', async (t) => {
    const lines = Array.from({ length: 130 }, (_, i) => `  X${'y'.repeat(i + 1)} z\n`)
    const { home, config, environment } = await homeWith(t, {
      config: `Host good\n  User u\n${lines.join('')}`,
    })
    const args = ['import', config, '--data', join(home, 'data')]
    const refused = await runCommand(args, { environment })
    const done = await runCommand([...args, '--skip'], { environment })
    for (const { stderr } of [refused, done])
      assert.match(stderr, /\n {2}line 102: Xy{100} is not .*\n {2}and 30 more\n/)
  })
})
