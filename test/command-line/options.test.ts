import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { clientOptionSpecs } from '../../src/command-line/client-options.ts'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { type Options, serverFlags } from '../../src/command-line/options.ts'
import { UsageError } from '../../src/errors.ts'
import { escapeHidden } from '../../src/text.ts'

interface Row {
  readonly flag: string
  readonly variable: string
  readonly fallback: unknown
  /** Each text with the value that it stands for. */
  readonly values: Record<string, unknown>
  readonly badValues: readonly string[]
}

const badDurations = ['0s', '12', '1.5h', '-1s', '1 h', '1H', '1w', 'h', '401d', '9999999999s', '']
const anyPath = {
  fallback: undefined,
  values: { 'a.pem': 'a.pem', '-': '-', 'a/~': 'a/~' },
  badValues: ['', '~/a.pem'],
}
const anyText = { fallback: undefined, values: { 'a.pem': 'a.pem', '-': '-' }, badValues: [''] }
const switches = { true: true, 1: true, yes: true, on: true, false: false, 0: false, no: false, off: false }

const rows: {
  readonly [Name in Exclude<
    keyof Options,
    | 'readOnly'
    | 'readWrite'
    | 'admin'
    | 'grant'
    | 'noGrants'
    | 'ifMissing'
    | 'ifPresent'
    | 'secretStdin'
    | 'live'
    | 'socket'
    | 'withHistory'
    | 'format'
    | 'output'
    | 'write'
    | 'sbom'
    | 'user'
    | 'skip'
    | 'follow'
    | 'run'
    | 'mode'
    | 'dryRun'
    | 'separator'
    | 'encoding'
    | 'map'
    | 'extra'
    | 'only'
    | 'default'
    | 'yes'
    | keyof typeof clientOptionSpecs
  >]: Row
} = {
  port: {
    flag: '--port',
    variable: 'CONNBOOK_PORT',
    fallback: 8080,
    values: { 0: 0, 1: 1, 443: 443, 65535: 65535 },
    badValues: [
      '65536',
      '-1',
      '80a',
      '0x50',
      '1e3',
      ' 80',
      '80.0',
      '100000',
      'http',
      'tcp://10.0.0.1:80',
      '',
    ],
  },
  host: {
    flag: '--host',
    variable: 'CONNBOOK_HOST',
    fallback: undefined,
    values: {
      '127.0.0.1': '127.0.0.1',
      '::': '::',
      'fe80::1%eth0': 'fe80::1%eth0',
      localhost: 'localhost',
      'a-b.c': 'a-b.c',
    },
    badValues: ['[::1]', 'http://localhost', 'localhost:80', '-a', 'a b', 'a/b', ''],
  },
  listen: {
    flag: '--listen',
    variable: 'CONNBOOK_LISTEN',
    fallback: undefined,
    values: { 'unix:/run/connbook/http': '/run/connbook/http', 'unix:a b': 'a b', 'unix:unix:': 'unix:' },
    badValues: [
      'unix:',
      'UNIX:/a',
      '/run/connbook/http',
      '127.0.0.1:80',
      'tcp:80',
      'unix:/a\0b',
      'unix:~/s',
      '',
    ],
  },
  data: {
    flag: '--data',
    variable: 'CONNBOOK_DATA',
    fallback: './data',
    values: { '/var/lib/connbook': '/var/lib/connbook', 'with space': 'with space', './~': './~' },
    badValues: ['', '~', '~/book', '~eve/book'],
  },
  publicUrl: {
    flag: '--public-url',
    variable: 'CONNBOOK_PUBLIC_URL',
    fallback: undefined,
    values: {
      'https://book.example.net': 'https://book.example.net',
      'https://book.example.net/': 'https://book.example.net',
      'HTTP://Book.Example.NET:8080': 'http://book.example.net:8080',
      'https://[::1]:8443': 'https://[::1]:8443',
    },
    badValues: [
      '',
      'book.example.net',
      '//book.example.net',
      'ftp://book.example.net',
      'https://',
      'https:///x',
      'https://a b',
      'https://me@book.example.net',
      'https://book.example.net?x',
      'https://book.example.net/#x',
      'https://book.example.net//',
      'https://book.example.net/%41',
      'https://book.example.net:99999',
    ],
  },
  basePath: {
    flag: '--base-path',
    variable: 'CONNBOOK_BASE_PATH',
    fallback: '',
    values: { '/': '', '/connbook': '/connbook', '/a/b.c/': '/a/b.c', '/~x_-y': '/~x_-y', '/..a': '/..a' },
    badValues: [
      'connbook',
      '//',
      '/a//b',
      '/a b',
      '/a?b',
      '/a%20b',
      '/..',
      '/a/./b',
      '/a;b',
      '/ä',
      'http://a/b',
      '',
    ],
  },
  tlsCert: {
    flag: '--tls-cert',
    variable: 'CONNBOOK_TLS_CERT',
    fallback: undefined,
    values: {},
    badValues: ['', '~/a.pem'],
  },
  tlsKey: {
    flag: '--tls-key',
    variable: 'CONNBOOK_TLS_KEY',
    fallback: undefined,
    values: {},
    badValues: ['', '~/a.pem'],
  },
  trustProxy: {
    flag: '--trust-proxy',
    variable: 'CONNBOOK_TRUST_PROXY',
    fallback: undefined,
    values: {
      '10.0.0.0/8': [{ address: '10.0.0.0', bits: 8 }],
      '127.0.0.1': [{ address: '127.0.0.1', bits: 32 }],
      unix: [{ address: 'unix', bits: 0 }],
      'fd00::/8, ::1': [
        { address: 'fd00::', bits: 8 },
        { address: '::1', bits: 128 },
      ],
    },
    badValues: [
      'nginx',
      'UNIX',
      'unix/0',
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/',
      '/8',
      '10.0.0.0/8/8',
      '10.0.0.0/8,',
      'fe80::1%lo',
      '',
    ],
  },
  sessionTtlSeconds: {
    flag: '--session-ttl',
    variable: 'CONNBOOK_SESSION_TTL',
    fallback: 12 * 3600,
    values: { '90s': 90, '15m': 900, '12h': 43_200, '30d': 2_592_000, '1s': 1, '400d': 34_560_000 },
    badValues: badDurations,
  },
  tokenTtlSeconds: {
    flag: '--token-ttl',
    variable: 'CONNBOOK_TOKEN_TTL',
    fallback: 3600,
    values: { '5m': 300 },
    badValues: badDurations,
  },
  logFormat: {
    flag: '--log-format',
    variable: 'CONNBOOK_LOG_FORMAT',
    fallback: undefined,
    values: { text: 'text', json: 'json' },
    badValues: ['JSON', 'xml', ''],
  },
  logLevel: {
    flag: '--log-level',
    variable: 'CONNBOOK_LOG_LEVEL',
    fallback: 'info',
    values: { debug: 'debug', info: 'info', warn: 'warn', error: 'error' },
    badValues: ['INFO', 'warning', 'trace', 'constructor', ''],
  },
  auditKeepBytes: {
    flag: '--audit-keep',
    variable: 'CONNBOOK_AUDIT_KEEP',
    fallback: 80 * 1024 ** 2,
    values: { '10M': 10 * 1024 ** 2, '1G': 1024 ** 3, '1000G': 1000 * 1024 ** 3 },
    badValues: ['9M', '1001G', '80', '80m', '80MB', '1T', '1.5G', '-1G', ' 1G', ''],
  },
  existing: {
    flag: '--existing',
    variable: 'CONNBOOK_EXISTING',
    fallback: false,
    values: switches,
    badValues: ['TRUE', 'y', '2', ''],
  },
  accessLog: {
    flag: '--access-log',
    variable: 'CONNBOOK_ACCESS_LOG',
    fallback: false,
    values: switches,
    badValues: ['TRUE', 'y', '2', ''],
  },
  metricsPublic: {
    flag: '--metrics-public',
    variable: 'CONNBOOK_METRICS_PUBLIC',
    fallback: false,
    values: switches,
    badValues: ['TRUE', 'y', '2', ''],
  },
  noConsole: {
    flag: '--no-console',
    variable: 'CONNBOOK_NO_CONSOLE',
    fallback: false,
    values: switches,
    badValues: ['TRUE', 'y', '2', ''],
  },
  shutdownTimeoutSeconds: {
    flag: '--shutdown-timeout',
    variable: 'CONNBOOK_SHUTDOWN_TIMEOUT',
    fallback: 10,
    values: { '1m': 60 },
    badValues: badDurations,
  },
  etcd: {
    flag: '--etcd',
    variable: 'CONNBOOK_ETCD',
    fallback: undefined,
    values: {
      'http://127.0.0.1:2379': ['http://127.0.0.1:2379'],
      'https://a.example:2379/': ['https://a.example:2379'],
      'http://[::1]:2379, https://b': ['http://[::1]:2379', 'https://b'],
    },
    badValues: ['a:2379', 'ftp://a', 'http://a/b', 'http://u:p@a', 'http://a,', 'http://a?b', ''],
  },
  etcdPrefix: {
    flag: '--etcd-prefix',
    variable: 'CONNBOOK_ETCD_PREFIX',
    fallback: '/connbook/',
    values: { '/a/': '/a/', '/teams/ops-1/': '/teams/ops-1/' },
    badValues: ['/', 'a/', '/a', '//', '/a//b/', '/é/', `/${'a'.repeat(200)}/`, ''],
  },
  etcdCa: { flag: '--etcd-ca', variable: 'CONNBOOK_ETCD_CA', ...anyPath },
  etcdCert: { flag: '--etcd-cert', variable: 'CONNBOOK_ETCD_CERT', ...anyPath },
  etcdKey: { flag: '--etcd-key', variable: 'CONNBOOK_ETCD_KEY', ...anyPath },
  etcdUser: { flag: '--etcd-user', variable: 'CONNBOOK_ETCD_USER', ...anyText },
  etcdPasswordFile: { flag: '--etcd-password-file', variable: 'CONNBOOK_ETCD_PASSWORD_FILE', ...anyPath },
  etcdKeyFile: { flag: '--etcd-key-file', variable: 'CONNBOOK_ETCD_KEY_FILE', ...anyPath },
  etcdPlain: {
    flag: '--etcd-plain',
    variable: 'CONNBOOK_ETCD_PLAIN',
    fallback: false,
    values: switches,
    badValues: ['TRUE', 'y', '2', ''],
  },
  maxStalenessSeconds: {
    flag: '--max-staleness',
    variable: 'CONNBOOK_MAX_STALENESS',
    fallback: 60,
    values: { '5s': 5 },
    badValues: badDurations,
  },
}

const entries = Object.entries(rows) as [keyof Options, Row][]

const parse = (args: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
  parseCommandLine(args, environment, serverFlags).options

/** The message of the UsageError, which must be one line. */
function complaint(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    assert.ok(error instanceof UsageError)
    assert.doesNotMatch(error.message, /\n/)
    return error.message
  }
  return assert.fail('it was taken')
}

for (const [name, { flag, variable, fallback, values, badValues }] of entries) {
  describe(flag, () => {
    it(`is ${fallback} by default, and with an empty variable`, () => {
      assert.equal(parse([])[name], fallback)
      assert.equal(parse([], { [variable]: '' })[name], fallback)
    })

    for (const [text, value] of Object.entries(values)) {
      it(`takes "${text}" as a flag, with = too, and as ${variable}`, () => {
        if (values !== switches) assert.deepEqual(parse([flag, text])[name], value)
        assert.deepEqual(parse([`${flag}=${text}`])[name], value)
        assert.deepEqual(parse([], { [variable]: text })[name], value)
      })
    }

    for (const text of badValues) {
      it(`refuses "${text}" and names where it came from`, () => {
        const shown = escapeHidden(text.replace('u:p@', 'u:…@'))
        const reason = text === '' ? 'it is empty' : 'it must be '
        assert.ok(
          complaint(() => parse([`${flag}=${text}`])).startsWith(`Cannot use ${flag} "${shown}": ${reason}`),
        )
        if (text === '') return
        assert.ok(
          complaint(() => parse([], { [variable]: text })).startsWith(`Cannot use ${variable} "${shown}": `),
        )
      })
    }

    it('overrides the environment variable, which is not even parsed', () => {
      const [text] = Object.keys(values)
      if (text === undefined) return
      assert.deepEqual(parse([`${flag}=${text}`], { [variable]: 'bad value' })[name], values[text])
    })

    if (name === 'trustProxy' || name === 'etcd') return
    it('can be given only once', () => {
      const [text = 'x'] = Object.keys(values)
      assert.equal(
        complaint(() => parse([`${flag}=${text}`, `${flag}=${text}`])),
        `The flag ${flag} is given twice; give it once`,
      )
    })

    it(values === switches ? 'takes no value' : 'needs a value', () => {
      if (values === switches) assert.equal(parse([flag])[name], true)
      else
        assert.match(
          complaint(() => parse([flag])),
          new RegExp(`^The flag ${flag} needs a value: ${flag} \\S+$`),
        )
    })
  })
}

describe('parseCommandLine', () => {
  it('reads PORT only when nothing else gives a port', () => {
    assert.equal(parse([], { PORT: '1' }).port, 1)
    assert.equal(parse([], { PORT: '1', CONNBOOK_PORT: '' }).port, 1)
    assert.equal(parse([], { PORT: '1', CONNBOOK_PORT: '2' }).port, 2)
    assert.equal(parse(['--port', '3'], { PORT: '1', CONNBOOK_PORT: '2' }).port, 3)
    assert.match(
      complaint(() => parse([], { PORT: 'x' })),
      /^Cannot use PORT "x"/,
    )
  })

  it('accepts certificate and key only together', () => {
    const pair = parse(['--tls-cert', 'c.pem'], { CONNBOOK_TLS_KEY: 'k.pem' })
    assert.deepEqual([pair.tlsCert, pair.tlsKey], ['c.pem', 'k.pem'])
    for (const flag of ['--tls-cert', '--tls-key']) {
      assert.match(
        complaint(() => parse([flag, 'x.pem'])),
        /--tls-cert and --tls-key; give both or neither/,
      )
    }
  })

  it('listens on a Unix socket or an address, and on a socket never with HTTPS', () => {
    const listen = '--listen=unix:/s'
    assert.equal(parse([listen], { PORT: '1' }).listen, '/s')
    for (const [args, environment, source] of [
      [[listen, '--port', '1'], {}, '--port'],
      [[listen, '--host=::1'], {}, '--host'],
      [[listen], { CONNBOOK_PORT: '1' }, 'CONNBOOK_PORT'],
      [['--host=::1'], { CONNBOOK_LISTEN: 'unix:/s' }, '--host'],
    ] as const) {
      assert.equal(
        complaint(() => parse(args, environment)),
        `Cannot listen on a Unix socket and by ${source} as well; give --listen or ${source}`,
      )
    }
    assert.match(
      complaint(() => parse([listen, '--tls-cert=c', '--tls-key=k'])),
      /^Cannot serve HTTPS on a Unix socket; /,
    )
  })

  it('reports the flags that are given, but not the variables', () => {
    const { given } = parseCommandLine(
      ['--port=1', '--access-log', '--trust-proxy', '::1', '--trust-proxy=unix'],
      { CONNBOOK_DATA: 'x' },
      serverFlags,
    )
    assert.deepEqual(
      [...given],
      [
        ['--port', '1'],
        ['--access-log', 'true'],
        ['--trust-proxy', '::1,unix'],
      ],
    )
  })

  it('names an unknown flag', () => {
    for (const [flag, advice] of [
      ['-p', 'see connbook help'],
      ['--prot', 'did you mean --port?'],
      ['--Port', 'did you mean --port?'],
      ['--port ', 'did you mean --port?'],
      ['---port', 'did you mean --port?'],
      ['--no-access-log', 'did you mean --access-log?'],
    ]) {
      assert.equal(
        complaint(() => parse([flag ?? '', '1'])),
        `Unknown flag "${flag}"; ${advice}`,
      )
    }
    assert.match(
      complaint(() => parse(['--prot=1'])),
      /"--prot"/,
    )
  })

  it('takes only the flags of the command', () => {
    assert.equal(parseCommandLine(['--data', 'x'], {}, ['data']).options.data, 'x')
    assert.match(
      complaint(() => parseCommandLine(['--port', '1'], {}, ['data'])),
      /^Unknown flag "--port"/,
    )
    assert.equal(
      complaint(() => parseCommandLine(['--prot', '1'], {}, ['data'])),
      'Unknown flag "--prot"; see connbook help',
    )
  })

  it('takes --read-only only for a command that names it, and from no variable', () => {
    const readOnly = (...args: string[]) => parseCommandLine(args, {}, ['data', 'readOnly']).options.readOnly
    assert.deepEqual(
      [readOnly(), readOnly('--read-only'), readOnly('--read-only=no'), readOnly('--data', 'x')],
      [false, true, false, false],
    )
    assert.equal(
      complaint(() => parse(['--read-only'])),
      'Unknown flag "--read-only"; see connbook help',
    )
    assert.equal(
      complaint(() => readOnly('--read-only', '--read-only')),
      'The flag --read-only is given twice; give it once',
    )
    assert.match(
      complaint(() => readOnly('--read-only=x')),
      /^Cannot use --read-only "x": it must be true or false$/,
    )
    const environment = { CONNBOOK_READ_ONLY: 'true', undefined: 'true' }
    assert.equal(parseCommandLine([], environment, ['readOnly']).options.readOnly, false)
    assert.equal(parse([], environment).readOnly, false)
  })

  it('takes the flags of export and import only for these commands, and from no variable', () => {
    const flags = ['format', 'skip', 'mode', 'dryRun'] as const
    const { options } = parseCommandLine([], { CONNBOOK_FORMAT: 'csv', CONNBOOK_MODE: 'replace' }, flags)
    assert.deepEqual(
      flags.map((flag) => options[flag]),
      [undefined, false, 'merge', false],
    )
    const given = parseCommandLine(
      ['--format', 'ssh-config', '--skip', '--mode=replace', '--dry-run'],
      {},
      flags,
    ).options
    assert.deepEqual(
      flags.map((flag) => given[flag]),
      ['ssh-config', true, 'replace', true],
    )
    for (const arg of ['--format=csv', '--skip', '--mode=merge', '--dry-run'])
      assert.match(
        complaint(() => parse([arg])),
        /^Unknown flag/,
      )
    assert.equal(
      complaint(() => parseCommandLine(['--format', 'xml'], {}, flags)),
      'Cannot use --format "xml": it must be json, jsonl, csv, ssh-config, ansible, ansible-json, pg-service, prometheus-sd, hosts or env',
    )
    assert.equal(
      complaint(() => parseCommandLine(['--mode', 'Merge'], {}, flags)),
      'Cannot use --mode "Merge": it must be merge or replace; did you mean merge?',
    )
  })

  it('does not read the word after a switch as its value', () => {
    const { words } = parseCommandLine(['add', '--read-only', 'eve'], {}, ['readOnly'])
    assert.deepEqual(words, ['add', 'eve'])
  })

  it('returns the words between and after the flags', () => {
    const args = ['add', '--port=1', 'name', '-', '--', '--port', '--']
    const { words, options } = parseCommandLine(args, {}, serverFlags)
    assert.deepEqual(words, ['add', 'name', '-', '--port', '--'])
    assert.equal(options.port, 1)
  })

  it('keeps everything after the first = in the value', () => {
    assert.equal(parse(['--data=a=b=']).data, 'a=b=')
  })
})

describe('--trust-proxy', () => {
  it('may be repeated, and the values add up', () => {
    assert.deepEqual(parse(['--trust-proxy', '10.0.0.0/8', '--trust-proxy=::1']).trustProxy, [
      { address: '10.0.0.0', bits: 8 },
      { address: '::1', bits: 128 },
    ])
  })
})
