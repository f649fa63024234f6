import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { clientOptionSpecs } from '../../src/command-line/client-options.ts'
import { type CommandLine, parseCommandLine } from '../../src/command-line/command-line.ts'
import type { Options } from '../../src/command-line/options.ts'
import { UsageError } from '../../src/errors.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { isIPv4Address, isIPv6Address } from '../support/properties/reference-hostname.ts'
import {
  anyEdit,
  anyText,
  applyEdit,
  joined,
  shortName,
  treacherousNames,
} from '../support/properties/texts.ts'

interface Row {
  readonly flag: string
  readonly variable: string
  /** Whether the flag belongs to one command only; such a flag has no variable. */
  readonly isOfCommand?: boolean
  /** Whether the flag may be given without a value. */
  readonly isSwitch?: boolean
  /** The default value. */
  readonly fallback: unknown
  /** Texts, valid and invalid. */
  readonly texts: fc.Arbitrary<string>
  /** The value of a text; undefined when the text is invalid. */
  meaningOf(text: string): unknown
}

const anyWord: Pick<Row, 'texts' | 'meaningOf'> = {
  texts: fc.oneof(shortName, fc.constantFrom('a=b', '-', '~')),
  meaningOf: (text) => (text === '' ? undefined : text),
}
const anyPath: Pick<Row, 'texts' | 'meaningOf'> = {
  texts: fc.oneof(shortName, fc.constantFrom('/var/lib/x', 'a=b', './data', '-', 'c.pem', '~', '~/x')),
  meaningOf: (text) => (text === '' || text.startsWith('~') ? undefined : text),
}
const units: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 }
const time: Pick<Row, 'texts' | 'meaningOf'> = {
  texts: fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.nat({ max: 500 }), fc.constantFrom('s', 'm', 'h', 'd', '', 'w', 'S'))
        .map((parts) => parts.join('')),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '34560000s',
        '34560001s',
        '400d',
        '401d',
        '9600h',
        '0s',
        '00090s',
        '1e1s',
        '-1s',
        '1.5h',
        ' 1s',
        '999999999s',
      ),
    },
  ),
  meaningOf(text) {
    const unitSeconds = units[text.at(-1) ?? '']
    const digits = text.slice(0, -1)
    if (unitSeconds === undefined || digits === '' || digits.length > 9) return undefined
    if (!digits.split('').every((digit) => digit >= '0' && digit <= '9')) return undefined
    const seconds = Number.parseInt(digits, 10) * unitSeconds
    return seconds > 0 && seconds <= 400 * 86_400 ? seconds : undefined
  },
}
const switches: Record<string, boolean> = {
  true: true,
  1: true,
  yes: true,
  on: true,
  false: false,
  0: false,
  no: false,
  off: false,
}

const onOrOff: Pick<Row, 'isSwitch' | 'fallback' | 'texts' | 'meaningOf'> = {
  isSwitch: true,
  fallback: false,
  texts: fc.constantFrom(...Object.keys(switches), 'TRUE', 'y', '2', '', ...treacherousNames),
  meaningOf: (text) => (Object.hasOwn(switches, text) ? switches[text] : undefined),
}

function choiceOf(...choices: string[]): Pick<Row, 'texts' | 'meaningOf'> {
  return {
    texts: fc.constantFrom(...choices, 'JSON', '', ' csv', ...treacherousNames),
    meaningOf: (text) => (choices.includes(text) ? text : undefined),
  }
}

/** An address, or a network with its prefix length. */
const networkText = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.oneof(fc.ipV4(), fc.ipV6()),
        fc.oneof(
          fc.constant(''),
          fc.nat({ max: 140 }).map((bits) => `/${bits}`),
        ),
      )
      .map((parts) => parts.join('')),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      ' ',
      '10.0.0.0/',
      '10.0.0.0/33',
      '10.0.0.0/032',
      '10.0.0.0/0008',
      '::/128',
      '::/129',
      '::/0',
      ' ::1',
      '::1 /8',
      '10.0.0.0/8/8',
      '10.0.0.0/-1',
      '10.0.0.0/1e1',
      'fe80::1%eth0',
      'fe80::%1/10',
      '[::1]',
      '10.1/16',
      'localhost',
      '/8',
      '::ffff:10.0.0.0/104',
      'unix',
      ' unix ',
      'unix/0',
      'Unix',
    ),
  },
)

function networkOf(text: string): { address: string; bits: number } | undefined {
  if (text.trim() === 'unix') return { address: 'unix', bits: 0 }
  const [address = '', bits, ...more] = text.trim().split('/')
  const isIPv6 = isIPv6Address(address) && !address.includes('%')
  if (more.length > 0 || !(isIPv6 || isIPv4Address(address))) return undefined
  const bitsMax = isIPv6 ? 128 : 32
  if (bits === undefined) return { address, bits: bitsMax }
  const isNumber =
    bits.length >= 1 && bits.length <= 3 && bits.split('').every((digit) => digit >= '0' && digit <= '9')
  return isNumber && Number(bits) <= bitsMax ? { address, bits: Number(bits) } : undefined
}

/** Flags of the client's commands have other meanings elsewhere, so not all of them can be given at once. Lists are tried there, too. */
type Name = Exclude<keyof Options, keyof typeof clientOptionSpecs | 'map' | 'only' | 'default' | 'grant'>

const rows: { readonly [One in Name]: Row } = {
  port: {
    flag: '--port',
    variable: 'CONNBOOK_PORT',
    fallback: 8080,
    texts: fc.oneof(
      fc.nat({ max: 70_000 }).map(String),
      fc.constantFrom('0', '65535', '65536', '080', '-1', '+1', '1e3', ' 80', '0x50', '\u0663'),
    ),
    meaningOf: (text) => {
      const port = Number.parseInt(text, 10)
      return String(port) === text && port >= 0 && port < 65_536 ? port : undefined
    },
  },
  host: {
    flag: '--host',
    variable: 'CONNBOOK_HOST',
    fallback: undefined,
    texts: fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.domain(),
      fc.constantFrom('localhost', 'fe80::1%eth0', '[::1]', 'a:80', '-a', 'a-', 'a..b', '::', 'a/b'),
    ),
    meaningOf(text) {
      const isName = /^[A-Za-z0-9.-]+$/.test(text) && !/^[.-]|[.-]$/.test(text)
      return isName || isIPv4Address(text) || isIPv6Address(text) ? text : undefined
    },
  },
  listen: {
    flag: '--listen',
    variable: 'CONNBOOK_LISTEN',
    fallback: undefined,
    texts: fc.oneof(
      shortName.map((name) => `unix:${name}`),
      fc.constantFrom('unix:', 'unix:/run/x', 'unix:~/x', 'unix:a\0', 'UNIX:/x', '/run/x', '::1', ''),
    ),
    meaningOf: (text) => (/^unix:[^~\0][^\0]*$/.test(text) ? text.slice(5) : undefined),
  },
  data: { flag: '--data', variable: 'CONNBOOK_DATA', fallback: './data', ...anyPath },
  publicUrl: {
    flag: '--public-url',
    variable: 'CONNBOOK_PUBLIC_URL',
    fallback: undefined,
    texts: fc.oneof(
      fc.domain().map((host) => `https://${host}`),
      fc.constantFrom('https://a/', 'http://a:81', 'ftp://a', 'https://', 'a', 'https://a?x'),
    ),
    meaningOf: (text) =>
      /^https?:\/\/[^/?]+\/?$/.test(text) ? new URL(text).href.replace(/\/$/, '') : undefined,
  },
  basePath: {
    flag: '--base-path',
    variable: 'CONNBOOK_BASE_PATH',
    fallback: '',
    texts: fc.oneof(
      joined(['/', '/', 'a', 'connbook', '.', '..', '~', '-', '_', '%41', '?', '//', ' '], anyText, 6),
      fc.constantFrom(
        '/',
        '/a/',
        '/..',
        '/.',
        '/a/..',
        '/../a',
        '/a/./b',
        '/...',
        '/.a',
        '/a..',
        '//',
        '/a//',
      ),
    ),
    meaningOf(text) {
      if (text === '/') return ''
      const segments = text.split('/')
      if (text === '' || segments.shift() !== '') return undefined
      if (segments.at(-1) === '') segments.pop()
      const isSegment = (segment: string) =>
        /^[A-Za-z0-9_.~-]+$/.test(segment) && segment !== '.' && segment !== '..'
      return segments.every(isSegment) ? segments.map((segment) => `/${segment}`).join('') : undefined
    },
  },
  tlsCert: { flag: '--tls-cert', variable: 'CONNBOOK_TLS_CERT', fallback: undefined, ...anyPath },
  tlsKey: { flag: '--tls-key', variable: 'CONNBOOK_TLS_KEY', fallback: undefined, ...anyPath },
  trustProxy: {
    flag: '--trust-proxy',
    variable: 'CONNBOOK_TRUST_PROXY',
    fallback: undefined,
    texts: fc.oneof(
      {
        weight: 6,
        arbitrary: fc.array(networkText, { minLength: 1, maxLength: 3 }).map((some) => some.join(',')),
      },
      { weight: 1, arbitrary: joined(['10.0.0.0', '/8', ',', '::1', ' ', '/', '%1'], anyText, 5) },
    ),
    meaningOf(text) {
      const networks = text.split(',').map(networkOf)
      return networks.includes(undefined) ? undefined : networks
    },
  },
  sessionTtlSeconds: { flag: '--session-ttl', variable: 'CONNBOOK_SESSION_TTL', fallback: 43_200, ...time },
  tokenTtlSeconds: { flag: '--token-ttl', variable: 'CONNBOOK_TOKEN_TTL', fallback: 3_600, ...time },
  logFormat: {
    flag: '--log-format',
    variable: 'CONNBOOK_LOG_FORMAT',
    fallback: undefined,
    texts: fc.constantFrom('text', 'json', 'JSON', 'xml', '', ...treacherousNames),
    meaningOf: (text) => (text === 'text' || text === 'json' ? text : undefined),
  },
  logLevel: {
    flag: '--log-level',
    variable: 'CONNBOOK_LOG_LEVEL',
    fallback: 'info',
    texts: fc.constantFrom('debug', 'info', 'warn', 'error', 'INFO', 'warning', '', ...treacherousNames),
    meaningOf: (text) => (['debug', 'info', 'warn', 'error'].includes(text) ? text : undefined),
  },
  auditKeepBytes: {
    flag: '--audit-keep',
    variable: 'CONNBOOK_AUDIT_KEEP',
    fallback: 80 * 1024 ** 2,
    texts: fc
      .tuple(fc.oneof(fc.nat({ max: 1_100 }), fc.nat()), fc.constantFrom('M', 'G', 'K', 'T', 'm', 'MB', ''))
      .map((parts) => parts.join('')),
    meaningOf(text) {
      const [, digits = '', unit = ''] = /^([0-9]+)([MG])$/.exec(text) ?? []
      const mebibytes = Number(digits) * (unit === 'G' ? 1024 : 1)
      const isIn = digits !== '' && digits.length < 10 && mebibytes >= 10 && mebibytes <= 1_024_000
      return isIn ? mebibytes * 1024 ** 2 : undefined
    },
  },
  existing: { flag: '--existing', variable: 'CONNBOOK_EXISTING', ...onOrOff },
  accessLog: { flag: '--access-log', variable: 'CONNBOOK_ACCESS_LOG', ...onOrOff },
  metricsPublic: { flag: '--metrics-public', variable: 'CONNBOOK_METRICS_PUBLIC', ...onOrOff },
  noConsole: { flag: '--no-console', variable: 'CONNBOOK_NO_CONSOLE', ...onOrOff },
  shutdownTimeoutSeconds: {
    flag: '--shutdown-timeout',
    variable: 'CONNBOOK_SHUTDOWN_TIMEOUT',
    fallback: 10,
    ...time,
  },
  etcd: {
    flag: '--etcd',
    variable: 'CONNBOOK_ETCD',
    fallback: undefined,
    texts: fc
      .array(
        fc.oneof(
          fc.domain().map((host) => `https://${host}:2379`),
          fc.constantFrom('http://a/', 'a', 'http://a/b'),
        ),
        {
          minLength: 1,
          maxLength: 3,
        },
      )
      .map((urls) => urls.join(',')),
    meaningOf(text) {
      const urls = text.split(',')
      return urls.every((url) => /^https?:\/\/[^/]+\/?$/.test(url))
        ? urls.map((url) => new URL(url).origin)
        : undefined
    },
  },
  etcdPrefix: {
    flag: '--etcd-prefix',
    variable: 'CONNBOOK_ETCD_PREFIX',
    fallback: '/connbook/',
    texts: joined(['/', '/a/', 'a/', '-', '~', '%', ' ', 'é'], anyText, 5),
    meaningOf(text) {
      const parts = text.split('/')
      const isFramed = parts.length > 2 && parts[0] === '' && parts.at(-1) === ''
      return isFramed && parts.slice(1, -1).every((part) => /^[A-Za-z0-9_.~-]+$/.test(part))
        ? text
        : undefined
    },
  },
  etcdCa: { flag: '--etcd-ca', variable: 'CONNBOOK_ETCD_CA', fallback: undefined, ...anyPath },
  etcdCert: { flag: '--etcd-cert', variable: 'CONNBOOK_ETCD_CERT', fallback: undefined, ...anyPath },
  etcdKey: { flag: '--etcd-key', variable: 'CONNBOOK_ETCD_KEY', fallback: undefined, ...anyPath },
  etcdUser: { flag: '--etcd-user', variable: 'CONNBOOK_ETCD_USER', fallback: undefined, ...anyWord },
  etcdPasswordFile: {
    flag: '--etcd-password-file',
    variable: 'CONNBOOK_ETCD_PASSWORD_FILE',
    fallback: undefined,
    ...anyPath,
  },
  etcdKeyFile: {
    flag: '--etcd-key-file',
    variable: 'CONNBOOK_ETCD_KEY_FILE',
    fallback: undefined,
    ...anyPath,
  },
  etcdPlain: { flag: '--etcd-plain', variable: 'CONNBOOK_ETCD_PLAIN', ...onOrOff },
  maxStalenessSeconds: {
    flag: '--max-staleness',
    variable: 'CONNBOOK_MAX_STALENESS',
    fallback: 60,
    ...time,
  },
  readOnly: { flag: '--read-only', variable: 'CONNBOOK_READ_ONLY', isOfCommand: true, ...onOrOff },
  readWrite: { flag: '--read-write', variable: 'CONNBOOK_READ_WRITE', isOfCommand: true, ...onOrOff },
  admin: { flag: '--admin', variable: 'CONNBOOK_ADMIN', isOfCommand: true, ...onOrOff },
  noGrants: { flag: '--no-grants', variable: 'CONNBOOK_NO_GRANTS', isOfCommand: true, ...onOrOff },
  ifMissing: { flag: '--if-missing', variable: 'CONNBOOK_IF_MISSING', isOfCommand: true, ...onOrOff },
  ifPresent: { flag: '--if-present', variable: 'CONNBOOK_IF_PRESENT', isOfCommand: true, ...onOrOff },
  secretStdin: { flag: '--secret-stdin', variable: 'CONNBOOK_SECRET_STDIN', isOfCommand: true, ...onOrOff },
  format: {
    flag: '--format',
    variable: 'CONNBOOK_FORMAT',
    isOfCommand: true,
    fallback: undefined,
    ...choiceOf('json', 'jsonl', 'csv', 'ssh-config', 'ansible', 'pg-service', 'env'),
  },
  sbom: { flag: '--sbom', variable: 'CONNBOOK_SBOM', isOfCommand: true, ...onOrOff },
  write: {
    flag: '--write',
    variable: 'CONNBOOK_WRITE',
    isOfCommand: true,
    fallback: undefined,
    ...anyPath,
  },
  output: {
    flag: '--output',
    variable: 'CONNBOOK_OUTPUT',
    isOfCommand: true,
    fallback: undefined,
    texts: fc.constantFrom('x', '-', 'a b', '', ...treacherousNames),
    meaningOf: (text) => (text === '' ? undefined : text),
  },
  follow: { flag: '--follow', variable: 'CONNBOOK_FOLLOW', isOfCommand: true, ...onOrOff },
  run: {
    flag: '--run',
    variable: 'CONNBOOK_RUN',
    isOfCommand: true,
    fallback: undefined,
    texts: fc.constantFrom('x', '-', 'a b', '', ' ', ...treacherousNames),
    meaningOf: (text) => (text.trim() === '' ? undefined : text),
  },
  skip: { flag: '--skip', variable: 'CONNBOOK_SKIP', isOfCommand: true, ...onOrOff },
  user: {
    flag: '--user',
    variable: 'CONNBOOK_USER',
    isOfCommand: true,
    fallback: undefined,
    texts: fc.constantFrom('x', '-', 'a b', '', ...treacherousNames),
    meaningOf: (text) => (text === '' ? undefined : text),
  },
  mode: {
    flag: '--mode',
    variable: 'CONNBOOK_MODE',
    isOfCommand: true,
    fallback: 'merge',
    ...choiceOf('merge', 'replace'),
  },
  encoding: {
    flag: '--encoding',
    variable: 'CONNBOOK_ENCODING',
    isOfCommand: true,
    fallback: undefined,
    ...choiceOf('windows-1252'),
  },
  separator: {
    flag: '--separator',
    variable: 'CONNBOOK_SEPARATOR',
    isOfCommand: true,
    fallback: undefined,
    ...choiceOf(',', ';', '\t', '|', 'tab'),
  },
  extra: {
    flag: '--extra',
    variable: 'CONNBOOK_EXTRA',
    isOfCommand: true,
    fallback: undefined,
    ...choiceOf('labels', 'ignore'),
  },
  dryRun: { flag: '--dry-run', variable: 'CONNBOOK_DRY_RUN', isOfCommand: true, ...onOrOff },
  live: { flag: '--live', variable: 'CONNBOOK_LIVE', isOfCommand: true, ...onOrOff },
  yes: { flag: '--yes', variable: 'CONNBOOK_YES', isOfCommand: true, ...onOrOff },
  socket: { flag: '--socket', variable: 'CONNBOOK_SOCKET', isOfCommand: true, ...onOrOff },
  withHistory: { flag: '--with-history', variable: 'CONNBOOK_WITH_HISTORY', isOfCommand: true, ...onOrOff },
}
const names = Object.keys(rows) as Name[]
const defaults = Object.fromEntries(names.map((name) => [name, rows[name].fallback]))

type Flags = readonly Name[]
const serverFlags: Flags = names.filter((name) => !rows[name].isOfCommand)
/** As if one command took all flags of commands. */
const addFlags: Flags = ['data', ...names.filter((name) => rows[name].isOfCommand)]
const flagsFor = (name: Name) => (rows[name].isOfCommand ? addFlags : serverFlags)

/** The parsed command line; undefined when it is refused. */
function parse(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  flags: Flags,
): CommandLine | undefined {
  try {
    const parsed = parseCommandLine(args, environment, flags)
    const options = Object.fromEntries(names.map((name) => [name, parsed.options[name]]))
    return { ...parsed, options: options as unknown as Options }
  } catch (error) {
    // Any other error would be reported as a fault of the program.
    if (error instanceof UsageError) return undefined
    throw error
  }
}

/** The value of a text for an option; undefined if the text is invalid. U+FFFD stands for bytes that are not UTF-8. */
function meaningOf(name: Name, text: string): unknown {
  return text.includes('\ufffd') ? undefined : rows[name].meaningOf(text)
}

/** Certificate and key are accepted only together. */
const partner: Partial<Record<Name, [flag: string, file: string]>> = {
  tlsCert: ['--tls-key', 'key.pem'],
  tlsKey: ['--tls-cert', 'cert.pem'],
}

describe('an option', () => {
  const given = fc
    .constantFrom(...names)
    .chain((name) => fc.tuple(fc.constant(name), rows[name].texts, rows[name].texts))

  it('means the same as a flag, as a flag with = and as a variable, or is refused in every form', (t) => {
    holdFor(t, given, ([name, text]) => {
      const { flag, variable, fallback, isSwitch, isOfCommand } = rows[name]
      const others = partner[name] ?? []
      const flags = flagsFor(name)
      const meaning = meaningOf(name, text)
      const without = (line: CommandLine | undefined) => {
        const added = names.find((each) => rows[each].flag === others[0])
        return line && { ...line.options, ...(added === undefined ? {} : { [added]: undefined }) }
      }
      const expected = meaning === undefined ? undefined : { ...defaults, [name]: meaning }
      assert.deepEqual(without(parse([`${flag}=${text}`, ...others], {}, flags)), expected)
      // A value that looks like a flag is read as one, and a switch takes no value.
      if (!isSwitch && !text.startsWith('--'))
        assert.deepEqual(without(parse([flag, text, ...others], {}, flags)), expected)
      if (isSwitch) assert.deepEqual(parse([flag, text], {}, flags)?.options, { ...defaults, [name]: true })
      if (isOfCommand) {
        assert.deepEqual(parse([], { [variable]: text }, flags)?.options, defaults)
        assert.equal(parse([`${flag}=${text}`], {}, serverFlags), undefined)
        return
      }
      const fromVariable = text === '' ? fallback : meaning
      const line = parse(text === '' && others.length > 0 ? [] : others, { [variable]: text }, flags)
      assert.deepEqual(
        without(line),
        fromVariable === undefined && text !== '' ? undefined : { ...defaults, [name]: fromVariable },
      )
    })
  })

  it('overrides any environment variable and can be given only once, except for networks and members of etcd, which add up', (t) => {
    holdFor(t, given, ([name, text, other]) => {
      const { flag, variable } = rows[name]
      const others = partner[name] ?? []
      const meaning = meaningOf(name, text)
      const flags = flagsFor(name)
      const environment = { [variable]: other, ...(name === 'port' ? { PORT: other } : {}) }
      const line = parse([`${flag}=${text}`, ...others], environment, flags)
      if (meaning === undefined) assert.equal(line, undefined)
      else assert.deepEqual(line?.options[name], meaning)
      const twice = parse([`${flag}=${text}`, ...others, `${flag}=${other}`], {}, flags)
      const more = meaningOf(name, other)
      if (!adds(name) || meaning === undefined || more === undefined) assert.equal(twice, undefined)
      else assert.deepEqual(twice?.options[name], [meaning, more].flat())
    })
  })
})

function adds(name: Name): boolean {
  return name === 'trustProxy' || name === 'etcd'
}

/** The expected options and words of a command line; undefined when it must be refused. */
function expectedLine(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  known: Flags,
): CommandLine | undefined {
  const texts = new Map<Name, string[]>()
  const words: string[] = []
  let i = 0
  while (i < args.length) {
    const arg = args[i] ?? ''
    i += 1
    if (arg === '--') {
      words.push(...args.slice(i))
      break
    }
    if (arg === '-' || arg[0] !== '-') {
      words.push(arg)
      continue
    }
    const [flag = '', ...behind] = arg.split('=')
    const name = known.find((each) => rows[each].flag === flag)
    const before = name && texts.get(name)
    if (name === undefined || (before !== undefined && !adds(name))) return undefined
    const keep = (text: string) => texts.set(name, [...(before ?? []), text])
    if (behind.length > 0) keep(behind.join('='))
    else if (rows[name].isSwitch) keep('true')
    else {
      const text = args[i]
      i += 1
      if (text === undefined || text.startsWith('--')) return undefined
      keep(text)
    }
  }
  const options: Record<string, unknown> = {}
  for (const name of names) {
    const { variable, fallback, isOfCommand } = rows[name]
    const inherited = [...(isOfCommand ? [] : [variable]), ...(name === 'port' ? ['PORT'] : [])]
      .map((each) => environment[each])
      .find((each) => each)
    const given = texts.get(name) ?? (inherited === undefined || !known.includes(name) ? [] : [inherited])
    const meanings = given.map((text) => meaningOf(name, text))
    if (meanings.includes(undefined)) return undefined
    options[name] = meanings.length === 0 ? fallback : adds(name) ? meanings.flat() : meanings[0]
  }
  if ((options.tlsCert === undefined) !== (options.tlsKey === undefined)) return undefined
  if (options.publicUrl !== undefined && options.basePath !== '') return undefined
  const isByAddress = (['port', 'host'] as const).some(
    (name) => texts.has(name) || Boolean(environment[rows[name].variable]),
  )
  if (options.listen !== undefined && (isByAddress || options.tlsCert !== undefined)) return undefined
  const given = Array.from(texts, ([name, some]) => [rows[name].flag, some.join()] as const)
  return { options: options as unknown as Options, given: new Map(given), words }
}

describe('a command line', () => {
  const flags = names.map((name) => rows[name].flag)
  const good = fc.constantFrom(
    '--port=1',
    '--data',
    'x',
    '--base-path=/a',
    '--access-log',
    '--log-format=json',
    '--token-ttl=1m',
    '--listen=unix:/s',
    '--log-level=warn',
    '--tls-key=k',
    '--tls-cert=c',
    '--trust-proxy=10.0.0.0/8,::1',
    '--trust-proxy=fd00::/8',
    '--trust-proxy',
  )
  const goodForAdding = fc.constantFrom('--data=x', '--data', 'x', '--read-only', '--read-only=no', 'add')
  const junk = fc.oneof(
    fc.constantFrom(
      '-',
      '--',
      '-p',
      '---port',
      '--Port',
      '--port ',
      '--=',
      '--no-access-log',
      '=',
      '',
      '--help',
      'add',
      '\n',
    ),
    fc.constantFrom(...flags),
    fc.tuple(fc.constantFrom(...flags), anyEdit(anyText)).map(([flag, edit]) => applyEdit(flag, edit)),
    anyText,
  )
  const argsOf = (sound: fc.Arbitrary<string>, maxLength: number) =>
    fc.array(fc.oneof({ weight: 3, arbitrary: sound }, { weight: 1, arbitrary: junk }), { maxLength })
  const lines = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(argsOf(good, 6), fc.constant(serverFlags)) },
    { weight: 1, arbitrary: fc.tuple(argsOf(goodForAdding, 4), fc.constant(addFlags)) },
  )
  const environment = fc.dictionary(
    fc.constantFrom(
      'PORT',
      'CONNBOOK_PORT',
      'CONNBOOK_DATA',
      'CONNBOOK_LISTEN',
      'CONNBOOK_ACCESS_LOG',
      'CONNBOOK_TLS_KEY',
      'CONNBOOK_TRUST_PROXY',
      'CONNBOOK_READ_ONLY',
      'CONNBOOK_DATAX',
      'PATH',
    ),
    fc.constantFrom('', '1', 'on', '80', 'x', '::1', 'unix:x'),
    { maxKeys: 2, noNullPrototype: true },
  )

  it('is parsed as the table of options says, or refused as wrong usage, for any arguments', (t) => {
    holdFor(t, fc.tuple(lines, environment), ([[args, known], variables]) => {
      assert.deepEqual(parse(args, variables, known), expectedLine(args, variables, known))
    })
  })
})
