import { isIP, isIPv6 } from 'node:net'
import { dirname, resolve } from 'node:path'
import type { CommandLine } from '../command-line/command-line.ts'
import { UsageError } from '../errors.ts'
import { MEMORY_MIB_MIN } from '../limits.ts'
import { isLoopback } from '../network.ts'

const STATE_ROOT = '/var/lib'
const RUNTIME_ROOT = '/run'
/** Hidden from the service, or replaced by empty folders, unless it uses a file below them. */
const HOMES = ['/home', '/root', '/run/user']
const TEMPORARY = ['/tmp', '/var/tmp']
/** Lower ports need CAP_NET_BIND_SERVICE. */
const UNPRIVILEGED_PORT_MIN = 1024
/** After --shutdown-timeout, for the last writes. */
const STOP_MARGIN_SECONDS = 5
/** Room for CONNECTIONS_MAX connections, and for files. */
const OPEN_FILES = 16_384

/** Variables that Node itself would obey when a socket unit starts the service. */
const NODE_VARIABLES = [
  'NODE_COMPILE_CACHE',
  'NODE_DEBUG',
  'NODE_DEBUG_NATIVE',
  'NODE_EXTRA_CA_CERTS',
  'NODE_ICU_DATA',
  'NODE_PENDING_DEPRECATION',
  'NODE_REDIRECT_WARNINGS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_USE_ENV_PROXY',
  'NODE_USE_SYSTEM_CA',
  'NODE_V8_COVERAGE',
]

export interface Installation {
  /** The absolute path of the executable, or that of Node, its options, and the absolute path of connbook.cjs. */
  readonly startWords: readonly string[]
  /** The command line of the server; --data defaults to /var/lib/connbook here. */
  readonly commandLine: Pick<CommandLine, 'options' | 'given'>
  /** Path of a file with variables, which may be missing. */
  readonly environmentFile?: string
  /** Where to read about it (systemd.unit(5), "Documentation="). */
  readonly documentation?: readonly string[]
}

function namedFilesOf(options: CommandLine['options']): [flag: string, path: string | undefined][] {
  return [
    ['--tls-cert', options.tlsCert],
    ['--tls-key', options.tlsKey],
    ['--etcd-ca', options.etcdCa],
    ['--etcd-cert', options.etcdCert],
    ['--etcd-key', options.etcdKey],
    ['--etcd-password-file', options.etcdPasswordFile],
    ['--etcd-key-file', options.etcdKeyFile],
  ]
}

/** Whether it names a file that nobody but its owner, and root's group, may read. */
function hasSecretFile({ tlsKey, etcdKey, etcdPasswordFile, etcdKeyFile }: CommandLine['options']): boolean {
  return [tlsKey, etcdKey, etcdPasswordFile, etcdKeyFile].some((path) => path !== undefined)
}

/** The text of connbook.service, sandboxed; `systemd-analyze security` rates that. */
export function serviceUnit(installation: Installation): string {
  const { startWords, commandLine, environmentFile, documentation } = installation
  const { options, given } = commandLine
  const folder = given.has('--data') ? resolve(options.data) : `${STATE_ROOT}/connbook`
  const files = new Map([['--data', folder]])
  for (const [flag, path] of namedFilesOf(options)) if (path !== undefined) files.set(flag, resolve(path))
  const socket = options.listen === undefined ? undefined : resolve(options.listen)
  if (socket !== undefined) files.set('--listen', `unix:${socket}`)
  const words = Array.from(new Map([...files, ...given, ...files]), ([flag, text]) => `${flag}=${text}`)
  const stateName = nameBelow(STATE_ROOT, folder)
  const runtimeName = socket === undefined ? undefined : nameBelow(RUNTIME_ROOT, dirname(socket))
  const writable = [
    ...(stateName === undefined ? [folder] : []),
    ...(socket !== undefined && runtimeName === undefined ? [dirname(socket)] : []),
  ]
  const used = [...startWords, ...writable, ...files.values()]
  const isPrivileged = socket === undefined && options.port > 0 && options.port < UNPRIVILEGED_PORT_MIN
  // A dynamic account owns no file before the service starts, and gets private temporary folders.
  const usesTemporary = used.some((path) => isBelowAny(TEMPORARY, path))
  // Nor can it share its group with a proxy.
  const needsAccount = writable.length > 0 || hasSecretFile(options) || usesTemporary || socket !== undefined

  return unit({
    Unit: [
      'Description=connbook, named connection configurations over HTTP',
      ...(documentation === undefined ? [] : [`Documentation=${documentation.join(' ')}`]),
      ...networkOf(options),
      '# systemd tries again for ever: the disk, the address or the port may be there later.',
      'StartLimitIntervalSec=0',
    ],
    Service: [
      'Type=exec',
      ...(environmentFile === undefined ? [] : [`EnvironmentFile=-${environmentFile}`]),
      `ExecStart=${quoteCommandLine([...startWords, ...words])}`,
      'ExecReload=kill -HUP $MAINPID',
      'Restart=on-failure',
      'RestartSec=2',
      ...preventedRestarts(options),
      `TimeoutStopSec=${options.shutdownTimeoutSeconds + STOP_MARGIN_SECONDS}`,
      `LimitNOFILE=${OPEN_FILES}`,
      `UnsetEnvironment=${NODE_VARIABLES.join(' ')}`,
      `# A limit on memory, if you want one. It is enough for 100,000 records; the least is ${MEMORY_MIB_MIN} MiB.`,
      '# MemoryMax=256M',
      '',
      ...(needsAccount ? ownAccount(socket !== undefined) : ['DynamicUser=yes']),
      ...(stateName === undefined ? [] : [`StateDirectory=${stateName}`, 'StateDirectoryMode=0700']),
      ...(runtimeName === undefined ? [] : [`RuntimeDirectory=${runtimeName}`]),
      ...writable.map((path) => `ReadWritePaths=${quoteWord(path)}`),
      'UMask=0077',
      '',
      ...sandbox(used, isPrivileged),
    ],
    Install: ['WantedBy=multi-user.target'],
  })
}

function ownAccount(listensOnSocket: boolean): string[] {
  return [
    '# Make this account: useradd --system --user-group connbook',
    '# It must own the data folder, and be able to read the files with secrets that the flags name.',
    'User=connbook',
    ...(listensOnSocket
      ? ['# Who may connect to the socket, such as the proxy: usermod -aG connbook www-data']
      : []),
  ]
}

/**
 * What the service cannot do.
 *
 * @param used Paths of files and folders that it must reach.
 * @param isPrivileged Whether it listens on a port that needs a capability.
 */
function sandbox(used: readonly string[], isPrivileged: boolean): string[] {
  return [
    'ProtectSystem=strict',
    `ProtectHome=${used.some((path) => isBelowAny(HOMES, path)) ? 'read-only' : 'yes'}`,
    ...(used.some((path) => isBelowAny(TEMPORARY, path)) ? [] : ['PrivateTmp=yes']),
    'PrivateDevices=yes',
    'ProtectProc=invisible',
    'ProcSubset=pid',
    ...['Clock', 'ControlGroups', 'Hostname', 'KernelLogs', 'KernelModules', 'KernelTunables'].map(
      (what) => `Protect${what}=yes`,
    ),
    'NoNewPrivileges=yes',
    ...(isPrivileged
      ? ['AmbientCapabilities=CAP_NET_BIND_SERVICE', 'CapabilityBoundingSet=CAP_NET_BIND_SERVICE']
      : // Not with the capability: in a private user namespace it would have no effect on the host's network.
        ['PrivateUsers=yes', 'CapabilityBoundingSet=']),
    'LockPersonality=yes',
    'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX',
    'RestrictNamespaces=yes',
    'RestrictRealtime=yes',
    'RestrictSUIDSGID=yes',
    'RemoveIPC=yes',
    'KeyringMode=private',
    'SystemCallArchitectures=native',
    'SystemCallFilter=@system-service',
    'SystemCallFilter=~@privileged @resources',
    'SystemCallErrorNumber=EPERM',
    '# MemoryDenyWriteExecute= would end the process at its start: JavaScript is compiled while it runs.',
  ]
}

/**
 * A folder in use (75) is free again when a command such as `restore` has ended. That of a node is in use by its copy on another
 * host: each start of one would stop the other.
 */
function preventedRestarts({ etcd }: CommandLine['options']): string[] {
  const common = 'A wrong command line (2) or damaged data (65)'
  if (etcd === undefined)
    return [`# ${common} needs a person. A restart would not help.`, 'RestartPreventExitStatus=2 65']
  return [
    `# ${common} needs a person, and so does a copied`,
    '# folder (75): the node and its copy would stop each other again and again.',
    'RestartPreventExitStatus=2 65 75',
  ]
}

/** The text of connbook.socket. @throws {UsageError} for a host that is a name, and for port 0. */
export function socketUnit({ options }: Pick<CommandLine, 'options'>): string {
  const { host, port, listen } = options
  const place = escapeSpecifiers(listen === undefined ? addressOf(host, port) : resolve(listen))
  return unit({
    Unit: ['Description=connbook, named connection configurations over HTTP'],
    Socket: [
      `ListenStream=${place}`,
      ...(listen === undefined
        ? []
        : [
            'SocketMode=0660',
            '# Who may connect besides root, such as the proxy:',
            '# SocketGroup=www-data',
          ]),
    ],
    Install: ['WantedBy=sockets.target'],
  })
}

function unit(sections: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(sections)
    .map(([name, lines]) => `[${name}]\n${lines.join('\n')}\n`)
    .join('\n')
}

function addressOf(host: string | undefined, port: number): string {
  if (port === 0)
    throw new UsageError('Cannot make the unit of a socket for port 0: systemd needs its number')
  if (host === undefined) return String(port)
  if (isIP(host) === 0) {
    throw new UsageError(`Cannot make the unit of a socket for --host "${host}": systemd takes an IP address`)
  }
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`
}

/** Only a specific --host must be configured before the server can bind to it. */
function networkOf({ host, listen }: CommandLine['options']): string[] {
  if (listen !== undefined) return []
  const isAny = host === undefined || host === '0.0.0.0' || host === '::'
  const isOwn = host === 'localhost' || (host !== undefined && isIP(host) !== 0 && isLoopback(host))
  if (isAny || isOwn) return ['After=network.target']
  return ['Wants=network-online.target', 'After=network-online.target']
}

/** The value of StateDirectory= or RuntimeDirectory= for a path; undefined when systemd cannot make it. */
function nameBelow(root: string, path: string): string | undefined {
  const name = path.slice(root.length + 1)
  const isPlain = path.startsWith(`${root}/`) && /^[\w.-]+(\/[\w.-]+)*$/.test(name)
  // systemd itself keeps the folders of dynamic accounts there.
  const isSystemds = /^private(\/|$)/.test(name)
  return isPlain && !isSystemds && !isBelowAny(HOMES, path) ? name : undefined
}

function isBelowAny(folders: readonly string[], path: string): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`))
}

/**
 * Quotes a command line for `ExecStart=` (systemd.service(5), "Command lines").
 *
 * @param words Without control characters; the first is the path of the program.
 */
export function quoteCommandLine([program = '', ...args]: readonly string[]): string {
  // systemd expands variables in arguments, but not in the path of the program.
  return [program, ...args.map((word) => word.replaceAll('$', '$$$$'))].map(quoteWord).join(' ')
}

/** Quotes a word of a list (systemd.syntax(7), "Quoting"). */
export function quoteWord(word: string): string {
  const text = escapeSpecifiers(word)
  return /^[\w%$@:,./=+~-]+$/.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** Escapes `%`, which begins a specifier (systemd.unit(5), "Specifiers"). */
export function escapeSpecifiers(text: string): string {
  return text.replaceAll('%', '%%')
}
