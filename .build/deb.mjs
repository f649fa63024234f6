import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'

const run = promisify(execFile)

/**
 * Debian's names of architectures.
 *
 * @type {ReadonlyMap<string, 'amd64' | 'arm64'>}
 */
export const debianArchitectures = new Map([
  ['x64', 'amd64'],
  ['arm64', 'arm64'],
])

const LIBRARIES = ['libc6 (>= 2.28)', 'libstdc++6 (>= 6)', 'libatomic1 (>= 4.8)']
const MAINTAINER = 'connbook <connbook@localhost>'
const SUMMARY = 'named connection configurations, served over HTTP'
const DESCRIPTION = [
  'connbook keeps named connection configurations (name, hostname, port,',
  'username) in one folder, and serves them over HTTP to people with curl or',
  'a browser and to scripts with tokens. The same executable is the client.',
]

const DEFAULTS = `# Options of the service connbook: a variable for each flag of the server, as
# "connbook help options" lists them. Then: systemctl restart connbook
#
# A port below 1024, and the key of a certificate, need a unit of your own:
# connbook systemd --port 443 --tls-cert … --tls-key … > /etc/systemd/system/connbook.service

# Without this, every host on the network can reach connbook, without HTTPS.
CONNBOOK_HOST=127.0.0.1
# CONNBOOK_PORT=8080
# CONNBOOK_ACCESS_LOG=true
`

const UNIT = 'connbook.service'

const AFTER_INSTALL = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  deb-systemd-helper unmask ${UNIT} > /dev/null
  # Somebody who has disabled the service keeps it so.
  if deb-systemd-helper --quiet was-enabled ${UNIT}; then
    deb-systemd-helper enable ${UNIT} > /dev/null
  else
    deb-systemd-helper update-state ${UNIT} > /dev/null
  fi
  if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload
    # An upgrade restarts it, a first installation starts it; policy-rc.d may say no.
    if [ -n "$2" ]; then action=restart; else action=start; fi
    deb-systemd-invoke "$action" ${UNIT} || true
  fi
fi
`

const BEFORE_REMOVAL = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop ${UNIT}
fi
`

const AFTER_REMOVAL = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload
fi
if [ "$1" = purge ]; then
  if command -v deb-systemd-helper > /dev/null; then
    deb-systemd-helper purge ${UNIT} > /dev/null
  fi
  if [ -e /var/lib/connbook ] || [ -e /var/lib/private/connbook ]; then
    echo 'connbook: The records stay in /var/lib/connbook; to delete them: rm -r /var/lib/connbook /var/lib/private/connbook'
  fi
fi
`

/** What lintian finds, and why it stays so. */
const OVERRIDES = [
  ['Node is one program with its libraries inside', 'embedded-library'],
  ['Node is built without it', 'hardening-no-pie'],
  ['Debian does not make this package, so there is no changelog of Debian', 'no-changelog'],
  ['Nobody is there to be written to', 'bogus-mail-host'],
  [
    'The notices of Node and its parts are as their authors have written them',
    'copyright-file-contains-full-apache-2-license',
  ],
  ['The same', 'old-fsf-address-in-copyright-file'],
]

/**
 * Makes a package for Debian: the executable, man pages, completions, and a service that systemd starts.
 *
 * @param {{ executable: string, licences: string, version: string, arch: 'amd64' | 'arm64', workshop: string }} parts
 *   `licences` is the text of all notices. Every file of the package has the day of the release.
 * @returns {Promise<string>} The path of the package.
 * @throws {Error} if dpkg-deb is missing or refuses.
 */
export async function makeDeb({ executable, licences, version, arch, workshop }) {
  const { RELEASED } = await import('../src/version.ts')
  const tree = join(workshop, 'deb')
  const write = fileWriter(tree)
  await write('usr/bin/connbook', await readFile(executable), 0o755)
  await write(`usr/lib/systemd/system/${UNIT}`, await unitText())
  await write('etc/default/connbook', DEFAULTS)
  await write('usr/share/doc/connbook/copyright', copyright(licences))
  await write('usr/share/lintian/overrides/connbook', overrides())
  for (const [path, text] of await completionsAndPages()) await write(path, text)
  const paths = await filesIn(tree)
  const sums = await Promise.all(
    paths
      .filter((path) => !path.startsWith('etc/'))
      .map(async (path) => `${await md5Of(join(tree, path))}  ${path}\n`),
  )
  const bytes = await Promise.all(paths.map(async (path) => (await readFile(join(tree, path))).length))
  const size = Math.ceil(bytes.reduce((sum, each) => sum + Math.ceil(each / 1024), 0))
  await write('DEBIAN/control', control(version, arch, size))
  await write('DEBIAN/conffiles', '/etc/default/connbook\n')
  await write('DEBIAN/md5sums', sums.join(''))
  await write('DEBIAN/postinst', AFTER_INSTALL, 0o755)
  await write('DEBIAN/prerm', BEFORE_REMOVAL, 0o755)
  await write('DEBIAN/postrm', AFTER_REMOVAL, 0o755)
  const made = join(workshop, `connbook_${version}_${arch}.deb`)
  await run('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', tree, made], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(Date.parse(RELEASED) / 1000) },
  }).catch((cause) => {
    const reason = cause.code === 'ENOENT' ? 'dpkg-deb is missing; apt-get install dpkg' : cause.stderr
    throw new Error(`Cannot make ${made}: ${reason}`)
  })
  await rm(tree, { recursive: true })
  return made
}

/** @param {string} tree */
function fileWriter(tree) {
  /** @type {(path: string, content: string | Uint8Array, mode?: number) => Promise<void>} */
  return async (path, content, mode = 0o644) => {
    const file = join(tree, path)
    const folder = dirname(file)
    const made = await mkdir(folder, { recursive: true })
    // mkdir heeds the umask of the caller.
    for (let each = made === undefined ? '' : folder; each.startsWith(tree); each = dirname(each))
      await chmod(each, 0o755)
    await writeFile(file, content)
    await chmod(file, mode)
  }
}

async function unitText() {
  const { parseCommandLine } = await import('../src/command-line/command-line.ts')
  const { serverFlags } = await import('../src/command-line/options.ts')
  const { serviceUnit } = await import('../src/commands/systemd-units.ts')
  return serviceUnit({
    executable: '/usr/bin/connbook',
    commandLine: parseCommandLine([], {}, serverFlags),
    environmentFile: '/etc/default/connbook',
  })
}

/** @returns {Promise<[path: string, content: string | Uint8Array][]>} */
async function completionsAndPages() {
  const { completionScripts: scripts } = await import('../src/command-line/completion-scripts.ts')
  const { manPages } = await import('../src/command-line/man-pages.ts')
  const { commands } = await import('../src/commands/commands.ts')
  const pages = manPages(commands).map(({ name, section, text }) => {
    const packed = gzipSync(text(), { level: 9 })
    return /** @type {[string, Uint8Array]} */ ([`usr/share/man/man${section}/${name}.${section}.gz`, packed])
  })
  return [
    ['usr/share/bash-completion/completions/connbook', scripts.bash],
    ['usr/share/zsh/vendor-completions/_connbook', scripts.zsh],
    ['usr/share/fish/vendor_completions.d/connbook.fish', scripts.fish],
    ...pages,
  ]
}

/** @param {string} version @param {string} arch @param {number} size */
function control(version, arch, size) {
  return `Package: connbook
Version: ${version}
Architecture: ${arch}
Maintainer: ${MAINTAINER}
Installed-Size: ${size}
Depends: ${LIBRARIES.join(', ')}
Section: net
Priority: optional
Description: ${SUMMARY}
${DESCRIPTION.map((line) => ` ${line}\n`).join('')}`
}

/** @param {string} licences */
function copyright(licences) {
  const text = licences
    .trimEnd()
    .split('\n')
    .map((line) => (line.trim() === '' ? ' .' : ` ${line.trimEnd()}`))
    .join('\n')
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: connbook

Files: *
Copyright: the owners of connbook, and of Node.js and its parts
License: connbook-and-node
${text}
`
}

function overrides() {
  return OVERRIDES.map(([reason, tag]) => `# ${reason}.\nconnbook: ${tag}\n`).join('')
}

/** @type {(folder: string) => Promise<string[]>} */
async function filesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
}

/** @param {string} path */
async function md5Of(path) {
  return createHash('md5')
    .update(await readFile(path))
    .digest('hex')
}
