// Plain JavaScript, because .ci/run asks it before the project's own Node is there: node debian-tools.mjs commands|packages

/**
 * Every command beyond Node that tests use if it is installed, with the Debian package that has it and the version that
 * the tests were written with. `least` is the oldest that serves them, with the flag by which it tells its version.
 *
 * @satisfies {Record<string, { package: string, version: string, least?: { version: string, ask: string } }>}
 */
export const tools = /** @type {const} */ ({
  'ansible-inventory': { package: 'ansible-core', version: '2.14' },
  'ansible-playbook': { package: 'ansible-core', version: '2.14' },
  caddy: { package: 'caddy', version: '2.6' },
  // Chromium without its own windows: it needs about half of the CPU time of the package chromium.
  'chromium-headless-shell': { package: 'chromium-headless-shell', version: '156' },
  curl: { package: 'curl', version: '7.88' },
  // The completions themselves are no command.
  'dh_bash-completion': { package: 'bash-completion', version: '2.11' },
  'dpkg-deb': { package: 'dpkg', version: '1.21' },
  'dpkg-query': { package: 'dpkg', version: '1.21' },
  eatmydata: { package: 'eatmydata', version: '130' },
  etcd: { package: 'etcd-server', version: '3.4' },
  etcdctl: { package: 'etcd-client', version: '3.4' },
  'fail2ban-regex': { package: 'fail2ban', version: '1.0' },
  'fail2ban-server': { package: 'fail2ban', version: '1.0' },
  faketime: { package: 'faketime', version: '0.9.10' },
  fish: { package: 'fish', version: '3.6' },
  // Version 2.6 is the oldest that the manual's configuration was tried with.
  git: { package: 'git', version: '2.39' },
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
  python3: { package: 'python3', version: '3.11' },
  'qemu-aarch64-static': { package: 'qemu-user-static', version: '7.2' },
  slowhttptest: { package: 'slowhttptest', version: '1.8' },
  // Versions before 8.7 read no `\"` inside quotes.
  ssh: { package: 'openssh-client', version: '9.2', least: { version: '8.7', ask: '-V' } },
  sshd: { package: 'openssh-server', version: '9.2' },
  strace: { package: 'strace', version: '6.1' },
  'systemd-analyze': { package: 'systemd', version: '252' },
  'systemd-socket-activate': { package: 'systemd', version: '252' },
  wrk: { package: 'wrk', version: '4.1' },
  zsh: { package: 'zsh', version: '5.9' },
})

if (process.argv[1]?.endsWith('debian-tools.mjs')) {
  const packages = new Set(Object.values(tools).map((tool) => tool.package))
  console.log([...(process.argv[2] === 'commands' ? Object.keys(tools) : packages)].join('\n'))
}
