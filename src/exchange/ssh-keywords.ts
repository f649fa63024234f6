import { eitherOf } from '../text.ts'
import { isKeptForward } from './ssh-forward.ts'

/** A keyword of ssh_config(5) that a record keeps as a label: it runs nothing, hands out no secret, and weakens no check. */
interface KeptKeyword {
  readonly keyword: string
  /** Makes the label's value of a file's. */
  readonly fromFile: (value: string) => string
  /** Why no file may have the value, to complete "a value that …". */
  fault(value: string): string | undefined
}

const yesOrNo = ['yes', 'no']
/** Seconds, or as ssh writes times; `none` stands for no time. */
const TIME = /^(?:\d{1,7}[smhdw]?){1,5}$/
const SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }
/** ssh ends with a longer one. */
const SECONDS_MAX = 2 ** 31 - 1
const COUNT = /^\d{1,7}$/
const HOST_KEY_NAME = /^\w[\w.:[\]-]*$/

/** Algorithms that every OpenSSH from 8.7 on knows: an unknown one ends the whole file for everybody who reads it. */
const signatures = new Set([
  ...[
    ...['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'],
    ...['ssh-rsa', 'rsa-sha2-256', 'rsa-sha2-512'],
  ].flatMap((name) => [name, `${name}-cert-v01@openssh.com`]),
  ...['sk-ssh-ed25519', 'sk-ecdsa-sha2-nistp256'].flatMap((name) => [
    `${name}@openssh.com`,
    `${name}-cert-v01@openssh.com`,
  ]),
])
const ciphers = new Set([
  ...['3des-cbc', 'aes128-cbc', 'aes192-cbc', 'aes256-cbc', 'aes128-ctr', 'aes192-ctr', 'aes256-ctr'],
  ...['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'chacha20-poly1305@openssh.com'],
])
const macs = new Set([
  ...['hmac-sha1', 'hmac-sha1-96', 'hmac-sha2-256', 'hmac-sha2-512', 'hmac-md5', 'hmac-md5-96'].flatMap(
    (name) => [name, `${name}-etm@openssh.com`],
  ),
  ...['umac-64', 'umac-128'].flatMap((name) => [`${name}@openssh.com`, `${name}-etm@openssh.com`]),
])
const exchanges = new Set([
  ...['diffie-hellman-group1-sha1', 'diffie-hellman-group14-sha1', 'diffie-hellman-group14-sha256'],
  ...['diffie-hellman-group16-sha512', 'diffie-hellman-group18-sha512'],
  ...['diffie-hellman-group-exchange-sha1', 'diffie-hellman-group-exchange-sha256'],
  ...['ecdh-sha2-nistp256', 'ecdh-sha2-nistp384', 'ecdh-sha2-nistp521'],
  ...['curve25519-sha256', 'curve25519-sha256@libssh.org', 'sntrup761x25519-sha512@openssh.com'],
])

export const keptKeywords: readonly KeptKeyword[] = [
  chosen('AddressFamily', ['any', 'inet', 'inet6']),
  listed('Ciphers', ciphers),
  chosen('Compression', yesOrNo),
  matching('ConnectTimeout', isTime, 'is not a time, such as 10 or 1m'),
  matching('ConnectionAttempts', (value) => COUNT.test(value) && Number(value) > 0, 'is not a number from 1'),
  forwarding('DynamicForward', '[localhost:]PORT'),
  listed('HostKeyAlgorithms', signatures),
  {
    ...matching('HostKeyAlias', (value) => HOST_KEY_NAME.test(value), 'is not a plain name'),
    fromFile: asWritten,
  },
  chosen('IdentitiesOnly', yesOrNo, true),
  listed('KexAlgorithms', exchanges),
  forwarding('LocalForward', '[localhost:]PORT HOST:PORT'),
  chosen('LogLevel', [
    ...['quiet', 'fatal', 'error', 'info', 'verbose'],
    ...['debug', 'debug1', 'debug2', 'debug3'],
  ]),
  listed('MACs', macs),
  listed('PubkeyAcceptedAlgorithms', signatures),
  chosen('RequestTTY', ['no', 'yes', 'force', 'auto'], true),
  matching('ServerAliveCountMax', (value) => COUNT.test(value), 'is not a number'),
  matching('ServerAliveInterval', isTime, 'is not a time, such as 30 or 1m'),
  chosen('TCPKeepAlive', yesOrNo, true),
]

/** Older names, by which ssh knows a keyword, too. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['pubkeyacceptedkeytypes', 'pubkeyacceptedalgorithms'],
  ['keepalive', 'tcpkeepalive'],
])

/** What a record does not keep, and a connection goes to the same place without; with the end of the warning. */
const leftOut: ReadonlyMap<string, string> = new Map([
  ...withWords(
    `AddKeysToAgent BatchMode BindAddress BindInterface CASignatureAlgorithms CertificateFile
     ChallengeResponseAuthentication ChannelTimeout CheckHostIP Cipher ClearAllForwardings CompressionLevel ControlMaster
     ControlPath ControlPersist DSAAuthentication EnableEscapeCommandline EnableSSHKeysign EscapeChar
     ExitOnForwardFailure FallBackToRsh FingerprintHash ForkAfterAuthentication ForwardAgent ForwardX11
     ForwardX11Timeout ForwardX11Trusted GatewayPorts GSSAPIAuthentication GSSAPIDelegateCredentials GSSAPIKeyExchange
     GSSAPITrustDns HashKnownHosts HostbasedAcceptedAlgorithms HostbasedAuthentication HostbasedKeyTypes IdentityAgent
     IgnoreUnknown IPQoS KbdInteractiveAuthentication KbdInteractiveDevices LocalCommand LogVerbose
     NumberOfPasswordPrompts ObscureKeystrokeTiming PasswordAuthentication PermitLocalCommand PermitRemoteOpen
     PreferredAuthentications Protocol PubkeyAuthentication RekeyLimit RemoteForward RequiredRSASize
     RhostsRSAAuthentication RSAAuthentication SendEnv SessionType SetEnv SkeyAuthentication SmartcardDevice StdinNull
     StreamLocalBindMask StreamLocalBindUnlink SyslogFacility TISAuthentication UseKeychain UsePrivilegedPort UseRoaming
     UseRsh VersionAddendum VisualHostKey WarnWeakCrypto XAuthLocation`,
    '',
  ),
  ...withWords(
    `GlobalKnownHostsFile GlobalKnownHostsFile2 NoHostAuthenticationForLocalhost RevokedHostKeys StrictHostKeyChecking
     UpdateHostKeys UserKnownHostsFile UserKnownHostsFile2 VerifyHostKeyDNS`,
    '; ssh then checks hosts as usual',
  ),
])
const NEEDED = 'cannot be kept: it names a program that ssh needs to connect'
const programs = new Set(['knownhostscommand', 'pkcs11provider', 'proxycommand', 'securitykeyprovider'])
/** Faults of these, and of the keywords below, change where connections go; `row` is a line that cannot be read. */
const destinations = new Set([
  'host',
  'hostname',
  'include',
  'match',
  'port',
  'proxycommand',
  'proxyjump',
  'row',
])
const ways = new Set([
  ...['canonicaldomains', 'canonicalizefallbacklocal', 'canonicalizehostname', 'canonicalizemaxdots'],
  ...['canonicalizepermittedcnames', 'proxyusefdpass', 'remotecommand', 'tag', 'tunnel', 'tunneldevice'],
])

/** A keyword in small letters, by the newer of its names. */
export function lowerKeyword(written: string): string {
  const lower = written.toLowerCase()
  return otherNames.get(lower) ?? lower
}

/** What a warning says of a keyword that is left out; undefined for one that is kept, or that is a fault. */
export function leftOutText(lower: string, written: string): string | undefined {
  const words = leftOut.get(lower)
  return words === undefined ? undefined : `${written} was left out${words}`
}

/** Whether a fault changes where a connection goes. @param field What it names. */
export function changesWay(field: string): boolean {
  const lower = field.toLowerCase()
  return destinations.has(lower) || (ways.has(lower) && lower !== 'remotecommand')
}

/** The end of a fault of a keyword that is neither kept nor left out. */
export function refusalOfKeyword(lower: string): string {
  if (lower === 'proxycommand') return `${NEEDED}; ProxyJump HOST, or exactly ssh -W %h:%p HOST, can be kept`
  if (programs.has(lower)) return NEEDED
  if (ways.has(lower)) return 'cannot be kept: it chooses the way to a host, or what runs there'
  return 'is not a keyword of ssh that connbook knows'
}

function withWords(keywords: string, words: string) {
  return keywords.split(/\s+/).map((keyword) => [keyword.toLowerCase(), words] as const)
}

function asWritten(value: string): string {
  return value
}

/** @param takesTrue Whether ssh takes `true` for `yes`, too. */
function chosen(keyword: string, choices: readonly string[], takesTrue = false): KeptKeyword {
  const fromFile = (value: string) => {
    const lower = value.toLowerCase()
    if (!takesTrue) return lower
    return lower === 'true' ? 'yes' : lower === 'false' ? 'no' : lower
  }
  const detail = `is not ${eitherOf(choices)}`
  return { keyword, fromFile, fault: (value) => (choices.includes(fromFile(value)) ? undefined : detail) }
}

/** @param matches Judges the value as it will be written: ssh knows `none` in small letters alone. */
function matching(keyword: string, matches: (value: string) => boolean, detail: string): KeptKeyword {
  const fromFile = (value: string) => value.toLowerCase()
  return { keyword, fromFile, fault: (value) => (matches(value) ? undefined : detail) }
}

function isTime(value: string): boolean {
  if (value === 'none') return true
  let seconds = 0
  for (const [, count, unit = ''] of value.matchAll(/(\d+)([smhdw]?)/g))
    seconds += Number(count) * (SECONDS[unit] ?? 0)
  return TIME.test(value) && seconds <= SECONDS_MAX
}

function listed(keyword: string, known: ReadonlySet<string>): KeptKeyword {
  return {
    keyword,
    fromFile: asWritten,
    fault(value) {
      if (value.startsWith('-')) return 'begins with "-"; only a list, also one after "+" or "^", can be kept'
      const names = value.replace(/^[+^]/, '').split(',')
      const unknown = names.find((name) => !known.has(name))
      if (unknown === undefined) return undefined
      return `names ${JSON.stringify(unknown)}, which not every OpenSSH from 8.7 on knows`
    },
  }
}

function forwarding(keyword: string, form: string): KeptKeyword {
  const detail = `is not ${form}, or several with commas between them`
  const isKept = (value: string) => isKeptForward(keyword.toLowerCase(), value)
  return {
    keyword,
    fromFile: asWritten,
    fault: (value) => (value.split(',').every(isKept) ? undefined : detail),
  }
}
