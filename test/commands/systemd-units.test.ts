import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import {
  escapeSpecifiers,
  quoteCommandLine,
  quoteWord,
  serviceUnit,
  socketUnit,
} from '../../src/commands/systemd-units.ts'
import { UsageError } from '../../src/errors.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { codePoint } from '../support/properties/texts.ts'
import { parse, service, valuesOf, wordsOf } from './unit-text.ts'

describe('the unit of the service', () => {
  it('keeps everything in a state folder, under a dynamic user', () => {
    const unit = service()
    assert.deepEqual(valuesOf(unit, 'ExecStart'), ['/usr/local/bin/connbook --data=/var/lib/connbook'])
    assert.deepEqual(valuesOf(unit, 'StateDirectory'), ['connbook'])
    assert.deepEqual(valuesOf(unit, 'DynamicUser'), ['yes'])
    assert.deepEqual(valuesOf(unit, 'User'), [])
    assert.deepEqual(valuesOf(unit, 'ReadWritePaths'), [])
    assert.deepEqual(valuesOf(unit, 'MemoryDenyWriteExecute'), [])
    assert.deepEqual(valuesOf(service('--data', '/var/lib/a/b'), 'StateDirectory'), ['a/b'])
  })

  it('withdraws from the service every permission that it does not need', () => {
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

  it('gets no variables of Node, which socket activation would leave in effect', () => {
    const names = (valuesOf(service(), 'UnsetEnvironment')[0] ?? '').split(' ')
    for (const name of ['NODE_DEBUG', 'NODE_EXTRA_CA_CERTS', 'NODE_TLS_REJECT_UNAUTHORIZED'])
      assert.ok(names.includes(name), name)
  })

  it('restarts the service after a crash, but not after an error that a restart cannot fix', () => {
    const unit = service()
    assert.deepEqual(valuesOf(unit, 'Restart'), ['on-failure'])
    assert.deepEqual(valuesOf(unit, 'RestartPreventExitStatus'), ['2 65'])
    // A folder may be free again; a copy of a node's never is.
    const node = service('--etcd', 'https://192.0.2.1:2379')
    assert.deepEqual(valuesOf(node, 'RestartPreventExitStatus'), ['2 65 75'])
    // No number of failed starts makes systemd give up.
    assert.deepEqual(valuesOf(unit, 'StartLimitIntervalSec'), ['0'])
    assert.deepEqual(valuesOf(unit, 'RestartSec'), ['2'])
    assert.deepEqual(valuesOf(unit, 'ExecReload'), ['kill -HUP $MAINPID'])
  })

  it('waits for the network only when it listens on an address that comes with it', () => {
    const waits = (...args: string[]) =>
      ['Wants', 'After'].flatMap((name) => valuesOf(service(...args), name))
    for (const host of ['192.0.2.1', '2001:db8::1', 'web1.example.net'])
      assert.deepEqual(waits('--host', host), ['network-online.target', 'network-online.target'])
    assert.deepEqual(waits(), ['network.target'])
    for (const host of ['0.0.0.0', '::', '127.0.0.1', '::1', 'localhost'])
      assert.deepEqual(waits('--host', host), ['network.target'])
    assert.deepEqual(waits('--listen', 'unix:/run/connbook/http'), [])
  })

  it('may write to a data folder elsewhere, as a fixed user', () => {
    const unit = service('--data', '/srv/a b')
    assert.deepEqual(valuesOf(unit, 'ReadWritePaths'), ['"/srv/a b"'])
    assert.deepEqual(valuesOf(unit, 'User'), ['connbook'])
    assert.deepEqual(valuesOf(unit, 'DynamicUser'), [])
    assert.deepEqual(valuesOf(unit, 'StateDirectory'), [])
  })

  it('sees home and temporary folders only when the data or the executable is there', () => {
    const settings = (unit: string) => ['ProtectHome', 'PrivateTmp'].flatMap((name) => valuesOf(unit, name))
    assert.deepEqual(settings(service()), ['yes', 'yes'])
    assert.deepEqual(settings(service('--data', '/home/ops/data')), ['read-only', 'yes'])
    assert.deepEqual(settings(service('--data', '/tmp/data')), ['yes'])
    assert.deepEqual(settings(service('--data', '/homes/data')), ['yes', 'yes'])
    const atHome = serviceUnit({ startWords: ['/root/connbook'], commandLine: parse() })
    assert.deepEqual(settings(atHome), ['read-only', 'yes'])
  })

  it('has only the capability that a low port needs, and otherwise none', () => {
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

  it('has a fixed user for a Unix socket, whose group the proxy can join', () => {
    const unit = service('--listen', 'unix:/run/connbook/http')
    assert.deepEqual(valuesOf(unit, 'User'), ['connbook'])
    assert.deepEqual(valuesOf(unit, 'DynamicUser'), [])
    assert.match(unit, /^# .*usermod -aG connbook www-data$/m)
  })

  it('has its socket in a runtime folder, or may write to the folder of the socket', () => {
    const unit = service('--listen', 'unix:/run/connbook/http')
    assert.deepEqual(valuesOf(unit, 'RuntimeDirectory'), ['connbook'])
    assert.deepEqual(valuesOf(unit, 'ReadWritePaths'), [])
    const elsewhere = service('--listen', 'unix:/srv/s/http')
    assert.deepEqual(valuesOf(elsewhere, 'ReadWritePaths'), ['/srv/s'])
    assert.deepEqual(valuesOf(elsewhere, 'User'), ['connbook'])
  })

  it('sets no state folder for a path in the private folder of systemd', () => {
    assert.deepEqual(valuesOf(service('--data', '/var/lib/private/cb'), 'StateDirectory'), [])
  })

  it('waits longer for the shutdown than the server itself', () => {
    assert.deepEqual(valuesOf(service(), 'TimeoutStopSec'), ['15'])
    assert.deepEqual(valuesOf(service('--shutdown-timeout', '2m'), 'TimeoutStopSec'), ['125'])
  })

  it('passes the given flags to the server, with absolute paths', () => {
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
  it('is open to its owner and group when it has a path', () => {
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
  it('quotes every word so that systemd reads it unchanged', (t) => {
    const word = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'ab $%"\'\\;=/{}é😀'), maxLength: 12 }),
      fc.string({ unit: codePoint, maxLength: 12 }).map((text) => text.replace(/\p{Cc}/gu, '')),
    )
    holdFor(
      t,
      fc.array(word),
      (args) => {
        const words = ['/bin/a', ...args.map((arg) => `--data=${arg}`)]
        assert.deepEqual(wordsOf(quoteCommandLine(words)), words)
      },
      2_000,
    )
  })
})

describe('text in a unit', () => {
  it('has no specifier that systemd would replace', () => {
    assert.equal(escapeSpecifiers('100%n of %'), '100%%n of %%')
  })

  it('is quoted when it has special characters, with its own quotes escaped', () => {
    const words: Record<string, string> = {
      '/srv/a-b_c.d': '/srv/a-b_c.d',
      '50%': '50%%',
      'a b': '"a b"',
      '': '""',
      'a"b\\c': '"a\\"b\\\\c"',
      "it's": '"it\'s"',
      'a;b': '"a;b"',
      é: '"é"',
    }
    for (const [word, quoted] of Object.entries(words)) assert.equal(quoteWord(word), quoted)
  })

  it('has its dollars escaped in the arguments of a command line, but not in the program', () => {
    assert.equal(quoteCommandLine(['/a$b', '--data=$HOME', 'a b$']), '/a$b --data=$$HOME "a b$$"')
  })
})
