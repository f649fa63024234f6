import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { missing } from '../../support/debian.ts'
import { freePort } from '../../support/free-port.ts'
import { type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'

/** For the `skip` of a test with a server for ssh. */
export const noSshServer = missing('sshd') || missing('ssh')

/** Where sshd wants an empty folder when root starts it; Debian's service makes it. */
const ROOTS_FOLDER = '/run/sshd'

/** OpenSSH's server on the loopback interface, which lets in the account of the test with one key. */
export interface SshServer {
  readonly port: number
  readonly username: string
  /** Path of the private key. */
  readonly key: string
  /** A folder for the front of PATH: its ssh knows this server, asks nothing, and reads no other settings. */
  readonly path: string
}

/** Starts sshd until the test or the suite ends. @param more Lines of its settings. */
export async function startSshServer(t: Lifetime, more: readonly string[] = []): Promise<SshServer> {
  const folder = await temporaryFolder(t)
  const [hostKey, key, path] = ['host_key', 'user_key', 'bin'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const file of [hostKey, key])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', file])
  copyFileSync(`${key}.pub`, join(folder, 'authorized_keys'))
  const port = await freePort()
  await startDaemon(t, folder, port, more)

  const knownHosts = join(folder, 'known_hosts')
  writeFileSync(knownHosts, `[127.0.0.1]:${port} ${readFileSync(`${hostKey}.pub`, 'utf8')}`)
  const settings = join(folder, 'ssh_config')
  const lines = [
    `UserKnownHostsFile ${knownHosts}`,
    ...['GlobalKnownHostsFile none', 'StrictHostKeyChecking yes', 'BatchMode yes'],
    ...['IdentitiesOnly yes', 'IdentityAgent none', 'LogLevel ERROR'],
  ]
  writeFileSync(settings, `${lines.join('\n')}\n`)
  mkdirSync(path)
  const ssh = join(path, 'ssh')
  writeFileSync(ssh, `#!/bin/sh\nexec '${pathOf('ssh')}' -F '${settings}' "$@"\n`)
  chmodSync(ssh, 0o700)
  return { port, username: userInfo().username, key, path }
}

async function startDaemon(t: Lifetime, folder: string, port: number, more: readonly string[]) {
  const settings = join(folder, 'sshd_config')
  const lines = [
    ...['ListenAddress 127.0.0.1', `Port ${port}`, 'PidFile none', 'LogLevel INFO'],
    `HostKey ${join(folder, 'host_key')}`,
    `AuthorizedKeysFile ${join(folder, 'authorized_keys')}`,
    // The folder for temporary files may be anybody's.
    ...['StrictModes no', 'UsePAM no', 'PermitRootLogin prohibit-password'],
    ...['PasswordAuthentication no', 'KbdInteractiveAuthentication no', ...more],
  ]
  writeFileSync(settings, `${lines.join('\n')}\n`)
  if (process.getuid?.() === 0 && !existsSync(ROOTS_FOLDER)) {
    mkdirSync(ROOTS_FOLDER, { mode: 0o755 })
    t.after(() => rmdirSync(ROOTS_FOLDER))
  }
  const daemon = spawn(pathOf('sshd'), ['-D', '-e', '-f', settings], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(daemon, 'exit')
  t.after(async () => {
    daemon.kill()
    await ended
  })
  const said = await linesUntil(daemon.stderr, 'Server listening')
  if (!said.includes('Server listening')) throw new Error(`sshd does not start: ${said}`)
  daemon.stderr.resume()
}

/** sshd starts itself again by its path, so that has to be absolute. */
function pathOf(command: string): string {
  return execFileSync('sh', ['-c', 'command -v "$0"', command], { encoding: 'utf8' }).trimEnd()
}

/** What a stream says, up to the first line that holds a text, or to its end. */
export async function linesUntil(stream: NodeJS.ReadableStream, text: string): Promise<string> {
  let said = ''
  for await (const line of createInterface(stream)) {
    said += `${line}\n`
    if (line.includes(text)) break
  }
  return said
}
