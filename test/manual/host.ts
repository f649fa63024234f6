import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { executable } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'
import { openShell } from './shell.ts'

/** Folders of a host that the manual writes to. */
const HOST_FOLDERS = [
  '/usr/local/bin',
  '/etc',
  '/etc/systemd/system',
  '/var/lib',
  '/var/backups',
  '/var/log',
  '/srv',
  '/run',
]

/** Programs that a test must not run for real: they say what they were called with, in the file `calls`. */
const STAND_INS = [
  'systemctl',
  'apt-get',
  'docker',
  'podman',
  'kubectl',
  'useradd',
  'usermod',
  'groupadd',
  'scp',
  'journalctl',
  'fail2ban-client',
]

const OWN_PORT = '8080'
/** Those that the manual's commands use. */
const USUAL_PORTS = [OWN_PORT, '8081', '2379', '2380']

/** A shell in an empty folder with connbook on its PATH, and the ports of the manual moved to free ones. */
export async function openReaderShell(t: Lifetime) {
  const folder = await temporaryFolder(t)
  const ports = new Map<string, number>()
  for (const port of USUAL_PORTS) ports.set(port, await freePort())
  const env = {
    PATH: [dirname(executable), process.env.PATH].join(delimiter),
    CONNBOOK_PORT: String(ports.get(OWN_PORT)),
    HOME: folder,
  }
  const shell = openShell(t, { cwd: folder, env })
  return {
    folder,
    run: shell.run,
    moved: (text: string) =>
      text.replaceAll(/(localhost:|--port )(\d{4})\b/g, (usual, before, port) =>
        ports.has(port) ? `${before}${ports.get(port)}` : usual,
      ),
  }
}

/**
 * A shell of somebody with root's rights, on a host below a folder of the test. connbook is installed there, and a new
 * file of it is in the current folder. `sudo` runs the command, without owners; see STAND_INS for what does not run.
 *
 * @param isCopied Whether these files are copies of the executable; else they are scripts that run it, which are
 *   quicker to make.
 */
export async function openHostShell(t: Lifetime, { isCopied = false } = {}) {
  const folder = await temporaryFolder(t)
  const [root, standIns, cwd] = ['root', 'stand-ins', 'here'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [
    standIns,
    cwd,
    join(folder, 'lineage'),
    ...HOST_FOLDERS.map((each) => join(root, each)),
  ])
    await mkdir(path, { recursive: true })
  for (const path of [cwd, join(root, 'usr/local/bin')].map((each) => join(each, 'connbook'))) {
    if (isCopied) await copyFile(executable, path)
    else await writeFile(path, `#!/bin/sh\nexec '${executable}' "$@"\n`, { mode: 0o755 })
  }
  const calls = join(folder, 'calls')
  await writeFile(calls, '')
  const programs = {
    ...Object.fromEntries(STAND_INS.map((name) => [name, `echo "${name} $*" >> ${calls}`])),
    // Other owners than the caller need root.
    install: 'args=$(echo "$*" | sed -E "s/-[og] [^ ]+ ?//g"); exec /usr/bin/install $args',
    chown: `echo "chown $*" >> ${calls}`,
    sudo: 'exec "$@"',
    certbot: certbotIn(join(folder, 'lineage')),
  }
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(standIns, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(standIns, name), 0o755)
  }
  const env = {
    PATH: [standIns, join(root, 'usr/local/bin'), process.env.PATH].join(delimiter),
    HOME: folder,
  }
  const shell = openShell(t, { cwd, env })
  // Otherwise a command before a pipe could fail unnoticed.
  await shell.run('set -o pipefail')
  const host = new RegExp(`(?<![\\w/])(?=(?:${HOST_FOLDERS.join('|')})\\b)`, 'g')
  return { root, cwd, calls, run: shell.run, moved: (text: string) => text.replaceAll(host, root) }
}

/** Makes a certificate without an authority, and runs the deploy hook as certbot does. */
function certbotIn(lineage: string): string {
  const subject = '-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1'
  const files = `-keyout ${lineage}/privkey.pem -out ${lineage}/fullchain.pem`
  return [
    'while [ $# -gt 0 ]; do [ "$1" = --deploy-hook ] && hook=$2; shift; done',
    `openssl req -x509 -newkey rsa:2048 -nodes -days 30 ${subject} ${files} 2> /dev/null || exit`,
    `RENEWED_LINEAGE=${lineage} exec sh -c "$hook"`,
  ].join('\n')
}
