import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, link, mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { parseCommandLine, serverFlags } from '../../src/cli/options.ts'
import { quoteCommandLine } from '../../src/cli/systemd-text.ts'
import { serviceUnit, socketUnit } from '../../src/cli/systemd-units.ts'
import { UsageError } from '../../src/errors.ts'
import { runCommand } from '../support/command.ts'
import { missing } from '../support/debian.ts'
import { executable, runExecutable } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const skip = missing('systemd-analyze')
/** What a unit may have at most, of 10. */
const EXPOSURE_MAX = 2

const parse = (...args: string[]) => parseCommandLine(args, {}, [...serverFlags, 'socket'])
const service = (...args: string[]) =>
  serviceUnit({ executable: '/usr/local/bin/connbook', commandLine: parse(...args) })

/** The settings of a unit that have this name, in order. */
function valuesOf(unit: string, setting: string): string[] {
  return Array.from(unit.matchAll(new RegExp(`^${setting}=(.*)$`, 'gm')), ([, value = '']) => value)
}

/** The words that systemd makes of a command line: systemd.service(5), "Command lines", read anew. */
function wordsOf(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let isQuoted = false
  for (let i = 0; i < line.length; i += 1) {
    const character = line[i] ?? ''
    const next = line[i + 1] ?? ''
    if (character === ' ' && !isQuoted) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (character === '"') {
      isQuoted = !isQuoted
      word ??= ''
    } else if (character === '\\') {
      assert.ok(['"', '\\'].includes(next), `an escape that is none: \\${next}`)
      word = (word ?? '') + next
      i += 1
    } else if (character === '%' || (character === '$' && words.length > 0)) {
      assert.equal(next, character, `${character} stands for something`)
      word = (word ?? '') + character
      i += 1
    } else {
      assert.ok(isQuoted || character !== "'", 'a single quote opens')
      word = (word ?? '') + character
    }
  }
  assert.ok(!isQuoted)
  return word === undefined ? words : [...words, word]
}

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

/** What systemd has to say against units; the executable that they name must be there. */
async function complaints(...files: string[]): Promise<string> {
  const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', ...files]).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  return stdout + stderr
}

async function exposure(file: string): Promise<number> {
  const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', file])
  const found = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]
  return Number(found ?? assert.fail(stdout))
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
    it(`prints a unit that systemd takes and finds safe, for ${args.join(' ') || 'no flags'}`, async (t) => {
      const { code, stdout, stderr } = await runExecutable(['systemd', ...args])
      assert.deepEqual([code, stderr], [0, ''])
      const file = await write(t, 'connbook.service', stdout)
      assert.equal(await complaints(file), '')
      assert.ok((await exposure(file)) <= EXPOSURE_MAX)
      // What was installed where everybody can reach it, and not in a temporary folder.
      const installed = await write(t, 'connbook.service', service(...args))
      assert.ok((await exposure(installed)) <= EXPOSURE_MAX)
    })
  }

  it('starts the executable wherever that is, whatever the names of the folders', async (t) => {
    const copy = await copyTo(join(await temporaryFolder(t), '100% $HOME é; '))
    const { stdout } = await run(copy, ['systemd'])
    assert.equal(wordsOf(valuesOf(stdout, 'ExecStart')[0] ?? '')[0], copy)
    assert.equal(await complaints(await write(t, 'connbook.service', stdout)), '')
    const elsewhere = stdout.replace('/connbook" ', '/gone" ')
    assert.notEqual(await complaints(await write(t, 'connbook.service', elsewhere)), '')
  })

  it('is refused where systemd starts no program', async (t) => {
    for (const name of ["it's", '"', '\\']) {
      const copy = await copyTo(join(await temporaryFolder(t), name))
      await assert.rejects(run(copy, ['systemd']), {
        code: 2,
        stderr: `connbook: Cannot have systemd start ${copy}: it takes no program with a quote or a backslash in its path; put it elsewhere\n`,
      })
    }
  })

  it('prints with --socket the unit of a socket that systemd takes', async (t) => {
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

  it('refuses what it does not understand, or cannot write down', async () => {
    for (const [args, reason] of [
      [['serve'], 'Write it as: connbook systemd'],
      [['--port', 'x'], 'Cannot use --port "x"'],
      [['--read-only'], 'Unknown flag "--read-only"'],
      [['--data', 'a\nb'], 'Cannot write "a\\nb" into a unit: it has a control character'],
      [['--socket', '--listen', 'unix:a\tb'], 'Cannot write "unix:a\\tb" into a unit'],
      [['--socket', '--host', 'localhost'], 'Cannot make the unit of a socket for --host "localhost"'],
    ] as const) {
      const { code, stdout, stderr } = await runExecutable(['systemd', ...args])
      assert.deepEqual([code, stdout], [2, ''])
      assert.ok(stderr.startsWith(`connbook: ${reason}`), stderr)
    }
  })
})

describe('the unit of the service', () => {
  it('keeps everything in a folder that systemd makes, under an account that it makes up', () => {
    const unit = service()
    assert.deepEqual(valuesOf(unit, 'ExecStart'), ['/usr/local/bin/connbook --data=/var/lib/connbook'])
    assert.deepEqual(valuesOf(unit, 'StateDirectory'), ['connbook'])
    assert.deepEqual(valuesOf(unit, 'DynamicUser'), ['yes'])
    assert.deepEqual(valuesOf(unit, 'User'), [])
    assert.deepEqual(valuesOf(unit, 'ReadWritePaths'), [])
    assert.deepEqual(valuesOf(unit, 'MemoryDenyWriteExecute'), [])
    assert.deepEqual(valuesOf(service('--data', '/var/lib/a/b'), 'StateDirectory'), ['a/b'])
  })

  it('takes from the service all that it can do without', () => {
    const lines = new Set(service().split('\n'))
    const taken = [
      ...[
        'ProtectSystem=strict',
        'ProtectHome=yes',
        'PrivateTmp=yes',
        'PrivateDevices=yes',
        'PrivateUsers=yes',
      ],
      ...['ProtectProc=invisible', 'ProcSubset=pid', 'ProtectClock=yes', 'ProtectControlGroups=yes'],
      ...['ProtectHostname=yes', 'ProtectKernelLogs=yes', 'ProtectKernelModules=yes'],
      ...['ProtectKernelTunables=yes', 'NoNewPrivileges=yes', 'CapabilityBoundingSet=', 'UMask=0077'],
      ...[
        'LockPersonality=yes',
        'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
        'RestrictNamespaces=yes',
      ],
      ...['RestrictRealtime=yes', 'RestrictSUIDSGID=yes', 'RemoveIPC=yes', 'KeyringMode=private'],
      ...['SystemCallArchitectures=native', 'StateDirectoryMode=0700'],
    ]
    assert.deepEqual(
      taken.filter((line) => !lines.has(line)),
      [],
    )
  })

  it('is started again after a crash, and not when that would be no better', () => {
    const unit = service()
    assert.deepEqual(valuesOf(unit, 'Restart'), ['on-failure'])
    assert.deepEqual(valuesOf(unit, 'RestartPreventExitStatus'), ['2 65'])
    assert.deepEqual(valuesOf(unit, 'ExecReload'), ['kill -HUP $MAINPID'])
  })

  it('may write to a folder elsewhere, which belongs to an account', () => {
    const unit = service('--data', '/srv/a b')
    assert.deepEqual(valuesOf(unit, 'ReadWritePaths'), ['"/srv/a b"'])
    assert.deepEqual(valuesOf(unit, 'User'), ['connbook'])
    assert.deepEqual(valuesOf(unit, 'DynamicUser'), [])
    assert.deepEqual(valuesOf(unit, 'StateDirectory'), [])
  })

  it('sees homes and temporary folders only when something that it needs is there', () => {
    const settings = (unit: string) => ['ProtectHome', 'PrivateTmp'].flatMap((name) => valuesOf(unit, name))
    assert.deepEqual(settings(service()), ['yes', 'yes'])
    assert.deepEqual(settings(service('--data', '/home/ops/data')), ['read-only', 'yes'])
    assert.deepEqual(settings(service('--data', '/tmp/data')), ['yes'])
    assert.deepEqual(settings(service('--data', '/homes/data')), ['yes', 'yes'])
    const atHome = serviceUnit({ executable: '/root/connbook', commandLine: parse() })
    assert.deepEqual(settings(atHome), ['read-only', 'yes'])
  })

  it('has the one capability that a low port needs, and else none', () => {
    const capabilities = (unit: string) =>
      ['CapabilityBoundingSet', 'AmbientCapabilities', 'PrivateUsers'].map((name) => valuesOf(unit, name)[0])
    const needed = ['CAP_NET_BIND_SERVICE', 'CAP_NET_BIND_SERVICE', undefined]
    const none = ['', undefined, 'yes']
    assert.deepEqual(capabilities(service('--port', '443')), needed)
    assert.deepEqual(capabilities(service('--port', '1023')), needed)
    assert.deepEqual(capabilities(service('--port', '1024')), none)
    assert.deepEqual(capabilities(service('--port', '0')), none)
    assert.deepEqual(capabilities(service()), none)
  })

  it('has its socket in a folder that systemd makes, or may write where it is', () => {
    const unit = service('--listen', 'unix:/run/connbook/http')
    assert.deepEqual(valuesOf(unit, 'RuntimeDirectory'), ['connbook'])
    assert.deepEqual(valuesOf(unit, 'ReadWritePaths'), [])
    const elsewhere = service('--listen', 'unix:/srv/s/http')
    assert.deepEqual(valuesOf(elsewhere, 'ReadWritePaths'), ['/srv/s'])
    assert.deepEqual(valuesOf(elsewhere, 'User'), ['connbook'])
  })

  it('leaves to systemd what it keeps for the accounts that it makes up', () => {
    assert.deepEqual(valuesOf(service('--data', '/var/lib/private/cb'), 'StateDirectory'), [])
  })

  it('waits longer for the end than the server itself does', () => {
    assert.deepEqual(valuesOf(service(), 'TimeoutStopSec'), ['15'])
    assert.deepEqual(valuesOf(service('--shutdown-timeout', '2m'), 'TimeoutStopSec'), ['125'])
  })

  it('gives the server the flags that are given, with paths that hold everywhere', () => {
    const unit = service('--access-log', '--tls-key=k.pem', '--tls-cert', 'c.pem', '--port=1', '--data', 'x')
    const [program, ...args] = wordsOf(valuesOf(unit, 'ExecStart')[0] ?? '')
    assert.equal(program, '/usr/local/bin/connbook')
    assert.deepEqual(parse(...args).options, {
      ...parse().options,
      accessLog: true,
      tlsKey: join(process.cwd(), 'k.pem'),
      tlsCert: join(process.cwd(), 'c.pem'),
      port: 1,
      data: join(process.cwd(), 'x'),
    })
  })
})

describe('the unit of the socket', () => {
  it('is open to its owner and group where it has a path', () => {
    const unit = socketUnit(parse('--listen', 'unix:/run/connbook.sock'))
    assert.deepEqual(valuesOf(unit, 'SocketMode'), ['0660'])
    assert.deepEqual(valuesOf(socketUnit(parse()), 'SocketMode'), [])
  })

  it('needs an address', () => {
    assert.throws(() => socketUnit(parse('--host', basename('localhost'))), UsageError)
    assert.throws(() => socketUnit(parse('--port', '0')), UsageError)
  })
})

describe('quoteCommandLine', () => {
  it('gives systemd every word as it is', () => {
    const word = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'ab $%"\'\\;=/{}é😀'), maxLength: 12 }),
      fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replace(/\p{Cc}/gu, '')),
    )
    void fc.assert(
      fc.property(fc.array(word), (args) => {
        const words = ['/bin/a', ...args.map((arg) => `--data=${arg}`)]
        assert.deepEqual(wordsOf(quoteCommandLine(words)), words)
      }),
      { numRuns: 2_000 },
    )
  })
})
