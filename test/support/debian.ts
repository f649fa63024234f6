import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A command that tests use if it is installed. */
interface Tool {
  /** The Debian package that has it. */
  readonly package: string
  /** The version that the tests were written with. */
  readonly version: string
  /** Why older versions are useless to the tests, and how to get the version; any version will do if not given. */
  readonly least?: { readonly version: string; readonly ask: string }
}

/** Every such command. CI installs their packages, and once more runs the quick tests without them. */
export const tools = {
  'ansible-inventory': { package: 'ansible-core', version: '2.14' },
  'ansible-playbook': { package: 'ansible-core', version: '2.14' },
  caddy: { package: 'caddy', version: '2.6' },
  // Chromium without its own windows: it needs about half of the CPU time of the package chromium.
  'chromium-headless-shell': { package: 'chromium-headless-shell', version: '156' },
  curl: { package: 'curl', version: '7.88' },
  'dpkg-deb': { package: 'dpkg', version: '1.21' },
  // The completions themselves are no command.
  'dh_bash-completion': { package: 'bash-completion', version: '2.11' },
  'dpkg-query': { package: 'dpkg', version: '1.21' },
  eatmydata: { package: 'eatmydata', version: '130' },
  etcd: { package: 'etcd-server', version: '3.4' },
  etcdctl: { package: 'etcd-client', version: '3.4' },
  fish: { package: 'fish', version: '3.6' },
  'fail2ban-regex': { package: 'fail2ban', version: '1.0' },
  'fail2ban-server': { package: 'fail2ban', version: '1.0' },
  faketime: { package: 'faketime', version: '0.9.10' },
  // Version 2.6 is the oldest that the manual's configuration was tried with.
  haproxy: { package: 'haproxy', version: '2.6', least: { version: '2.6', ask: '-v' } },
  ip: { package: 'iproute2', version: '6.1' },
  jq: { package: 'jq', version: '1.6' },
  lintian: { package: 'lintian', version: '2.116' },
  logrotate: { package: 'logrotate', version: '3.21' },
  man: { package: 'man-db', version: '2.11' },
  mandoc: { package: 'mandoc', version: '1.14' },
  mmdebstrap: { package: 'mmdebstrap', version: '1.3' },
  nginx: { package: 'nginx-light', version: '1.22' },
  openssl: { package: 'openssl', version: '3.0' },
  prlimit: { package: 'util-linux', version: '2.38' },
  prometheus: { package: 'prometheus', version: '2.42' },
  promtool: { package: 'prometheus', version: '2.42' },
  psql: { package: 'postgresql-client', version: '15' },
  'qemu-aarch64-static': { package: 'qemu-user-static', version: '7.2' },
  slowhttptest: { package: 'slowhttptest', version: '1.8' },
  // Versions before 8.7 read no `\"` inside quotes.
  ssh: { package: 'openssh-client', version: '9.2', least: { version: '8.7', ask: '-V' } },
  sshd: { package: 'openssh-server', version: '9.2' },
  strace: { package: 'strace', version: '6.1' },
  'systemd-analyze': { package: 'systemd', version: '252' },
  'systemd-socket-activate': { package: 'systemd', version: '252' },
  zsh: { package: 'zsh', version: '5.9' },
  wrk: { package: 'wrk', version: '4.1' },
} as const satisfies Record<string, Tool>

/** Why tests with a command are skipped, for their `skip`; false if it is installed. */
export function missing(command: keyof typeof tools): string | false {
  const tool: Tool = tools[command]
  if (!isThere(command)) {
    return `${command} is missing: apt-get install ${tool.package} (tried with version ${tool.version})`
  }
  if (tool.least === undefined) return false
  const found = versionOf(command, tool.least.ask)
  return isOlder(found, tool.least.version)
    ? `${command} ${found} is too old: it must be ${tool.least.version} or later`
    : false
}

function isThere(command: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** The first number with a dot that a command prints about itself, on either stream. */
function versionOf(command: string, flag: string): string {
  const said = execFileSync('sh', ['-c', '"$0" "$1" 2>&1', command, flag], { encoding: 'utf8' })
  return /\d+\.\d+/.exec(said)?.[0] ?? '0.0'
}

/** Both are two numbers with a dot between them. */
export function isOlder(version: string, than: string): boolean {
  const [[major = 0, minor = 0], [leastMajor = 0, leastMinor = 0]] = [version, than].map((text) =>
    text.split('.').map(Number),
  ) as [number[], number[]]
  return major < leastMajor || (major === leastMajor && minor < leastMinor)
}

// With an argument, this file lists the table for .ci/run.
if (import.meta.main) {
  const lists: Record<string, () => readonly string[]> = {
    commands: () => Object.keys(tools),
    packages: () => [...new Set(Object.values(tools).map((tool) => tool.package))],
  }
  const [word = ''] = process.argv.slice(2)
  console.log((lists[word]?.() ?? []).join('\n'))
}
