import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { debianCopyright } from './deb-copyright.mjs'
import { defaults, maintainerScripts, unitName } from './deb-scripts.mjs'

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

// By the versions of the symbols that Node asks for, which a test reads from the executable.
const LIBRARIES = ['libc6 (>= 2.28)', 'libstdc++6 (>= 7)', 'libatomic1 (>= 4.8)']
const MAINTAINER = 'connbook <connbook@localhost>'
const SUMMARY = 'named connection configurations, served over HTTP'
const DESCRIPTION = [
  'connbook keeps named connection configurations (name, hostname, port,',
  'username) in one folder, and serves them over HTTP to people with curl or',
  'a browser and to scripts with tokens. The same executable is the client.',
]

/** For `ansible -i`, which runs such a file. */
const INVENTORY_SCRIPT = '#!/bin/sh\nexec connbook inventory "$@"\n'

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
 * `license` is connbook's own, `notices` the text of all others.
 *
 * @typedef {{ executable: string, license: string, notices: string, version: string, commit: import('./commit.mjs').Commit | undefined, arch: 'amd64' | 'arm64', workshop: string }} Parts
 */

/**
 * Makes a package for Debian: the executable, man pages, completions, and a service that systemd starts. All files in it
 * have the time of SOURCE_DATE_EPOCH, or else of the commit, so the same parts give the same bytes.
 *
 * @param {Parts} parts
 * @returns {Promise<string>} The path of the package.
 * @throws {Error} if dpkg-deb is missing or refuses.
 */
export async function makeDeb({ executable, license, notices, version: release, commit, arch, workshop }) {
  const epoch = await sourceDate(commit)
  const version = debianVersion(release, commit)
  const tree = join(workshop, 'deb')
  const write = fileWriter(tree)
  await write('usr/bin/connbook', await readFile(executable), 0o755)
  await write(`usr/lib/systemd/system/${unitName}`, await unitText())
  await write('etc/default/connbook', defaults)
  await write('usr/share/connbook/inventory', INVENTORY_SCRIPT, 0o755)
  await write('usr/share/doc/connbook/copyright', debianCopyright(license, notices))
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
  for (const [name, text] of Object.entries(maintainerScripts)) await write(`DEBIAN/${name}`, text, 0o755)
  // dpkg-deb itself only makes a later time earlier.
  for (const entry of await readdir(tree, { recursive: true })) await utimes(join(tree, entry), epoch, epoch)
  await utimes(tree, epoch, epoch)
  const made = join(workshop, `connbook_${version}_${arch}.deb`)
  await run('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', tree, made], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
  }).catch((cause) => {
    const reason = cause.code === 'ENOENT' ? 'dpkg-deb is missing; apt-get install dpkg' : cause.stderr
    throw new Error(`Cannot make ${made}: ${reason}`)
  })
  await rm(tree, { recursive: true })
  return made
}

/**
 * Later for a later day. A build that knows no commit counts as older than any that does, so each such one upgrades it.
 *
 * @type {(release: string, commit: Parts['commit']) => string}
 */
function debianVersion(release, commit) {
  // To Debian, 1.0.0-rc.1 would be later than 1.0.0.
  const version = release.replace('-', '~')
  if (commit === undefined) return version
  return `${version}+${commit.day.replaceAll('-', '')}.g${commit.hash.slice(0, 8)}`
}

/**
 * In seconds; the day of the release if no commit is known.
 *
 * @param {Parts['commit']} commit
 */
async function sourceDate(commit) {
  const given = process.env.SOURCE_DATE_EPOCH
  if (given === undefined) {
    if (commit !== undefined) return commit.seconds
    const { RELEASED } = await import('../src/version.ts')
    return Date.parse(RELEASED) / 1000
  }
  if (/^\d{1,10}$/.test(given)) return Number(given)
  throw new Error(`Cannot take SOURCE_DATE_EPOCH "${given}": it must be a number of seconds since 1970`)
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
    startWords: ['/usr/bin/connbook'],
    commandLine: parseCommandLine([], {}, serverFlags),
    environmentFile: '/etc/default/connbook',
    documentation: ['man:connbook(1)', 'man:connbook-systemd(7)'],
  })
}

/** @returns {Promise<[path: string, content: string | Uint8Array][]>} */
async function completionsAndPages() {
  const { completionScripts: scripts } = await import('../src/command-line/completion.ts')
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
Suggests: openssh-client
Section: net
Priority: optional
Description: ${SUMMARY}
${DESCRIPTION.map((line) => ` ${line}\n`).join('')}`
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
