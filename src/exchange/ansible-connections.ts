/** Ports of connections of Ansible that are not those of ssh, where an inventory says none. */
const ports: ReadonlyMap<string, number> = new Map([
  ['winrm', 5986],
  ['psrp', 5986],
  ['netconf', 830],
  ['httpapi', 80],
])
const SSH_PORT = 22

const sshConnections = new Set(['', 'ssh', 'smart', 'ansible.builtin.ssh'])
/** Connections that Ansible knows by a short name, now or before they went into collections. */
const shortNames = new Set([
  ...['winrm', 'psrp', 'network_cli', 'netconf', 'httpapi', 'local', 'paramiko', 'paramiko_ssh'],
  ...[
    'docker',
    'podman',
    'buildah',
    'kubectl',
    'oc',
    'lxc',
    'lxd',
    'libvirt_lxc',
    'chroot',
    'jail',
    'iocage',
  ],
  ...['zone', 'funcd', 'saltstack', 'qubes', 'vmware_tools', 'aws_ssm', 'incus'],
  ...['napalm', 'persistent', 'proxmox_pct_remote', 'machinectl', 'nsenter'],
])
/** A name with its collection. */
const FULL_NAME = /^[a-z_]\w*(?:\.[a-z_]\w*){2,}$/

/** @param connection What `ansible_connection` says. */
export function isSshConnection(connection: string): boolean {
  return sshConnections.has(connection)
}

/** Whether a kind of records is a connection of Ansible other than ssh. */
export function isOtherConnection(kind: string): boolean {
  return !sshConnections.has(kind) && (shortNames.has(kind) || FULL_NAME.test(kind))
}

/** The port that Ansible takes where an inventory says none. @param connection Nothing for ssh. */
export function defaultPortOf(connection: string | null | undefined): number {
  const [, shortName] = /([^.]*)$/.exec(connection ?? '') ?? []
  return ports.get(shortName ?? '') ?? SSH_PORT
}
