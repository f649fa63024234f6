/** Ports of connections of Ansible that are not those of ssh, where an inventory says none. */
const ports: ReadonlyMap<string, number> = new Map([
  ['winrm', 5986],
  ['psrp', 5986],
  ['netconf', 830],
  ['httpapi', 80],
])
const SSH_PORT = 22

const sshConnections = new Set(['', 'ssh', 'smart', 'ansible.builtin.ssh'])
/**
 * Connections to another machine. With others, such as `local`, `chroot` or `docker`, tasks would run on the machine of
 * whoever runs Ansible, which no record may bring about.
 */
const remoteNames = new Set(
  ['winrm', 'psrp', 'paramiko', 'paramiko_ssh']
    .flatMap((name) => [name, `ansible.builtin.${name}`])
    .concat(['network_cli', 'netconf', 'httpapi'].flatMap((name) => [name, `ansible.netcommon.${name}`])),
)

/** @param connection What `ansible_connection` says. */
export function isSshConnection(connection: string): boolean {
  return sshConnections.has(connection)
}

/** Whether a kind of records is a connection of Ansible to another machine, other than ssh. */
export function isOtherConnection(kind: string): boolean {
  return remoteNames.has(kind)
}

/** The port that Ansible takes where an inventory says none. @param connection Nothing for ssh. */
export function defaultPortOf(connection: string | null | undefined): number {
  const [, shortName] = /([^.]*)$/.exec(connection ?? '') ?? []
  return ports.get(shortName ?? '') ?? SSH_PORT
}
