import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { quoteCommandLine } from '../../src/commands/systemd-text.ts'
import { serviceUnit, socketUnit } from '../../src/commands/systemd-units.ts'
import { UsageError } from '../../src/errors.ts'
import { parse, service, valuesOf, wordsOf } from './unit-text.ts'

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
