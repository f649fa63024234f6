import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { versionedParts } from './node-parts.mjs'

const root = join(import.meta.dirname, '..')

/**
 * What is inside an executable, as a CycloneDX bill of materials (cyclonedx.org, version 1.5): connbook, its packages from
 * `npm sbom`, and Node with its own parts. Tools that only build are not in it: nothing of them is on the host, and
 * package-lock.json lists them. The same executable gives the same bytes: there is no time, and the serial number is made
 * of the content.
 *
 * One bill has two texts with one serial number: that beside the executable names it, with its checksum, which that inside
 * cannot know.
 *
 * @param {{ version: string, license: string, commit: string | null, program: Uint8Array }} own `program` is the code.
 * @param {string} [nodePackage] npm's package with the Node inside, if there is one.
 * @returns {Promise<(file?: string, executable?: Uint8Array) => string>} Writes either text.
 */
export async function makeSbom({ version, license, commit, program }, nodePackage) {
  const bundled = await bundledPackages()
  const node = nodePackage === undefined ? [] : [await lockedNode(nodePackage)]
  const parts = nodePackage === undefined ? [] : partsOfNode()
  const properties = [
    { name: 'connbook:commit', value: commit ?? 'unknown' },
    { name: 'connbook:program-sha256', value: sha256Of(program) },
  ]
  const component = {
    'bom-ref': `connbook@${version}`,
    type: 'application',
    name: 'connbook',
    version,
    licenses: [{ license: { name: license } }],
    purl: `pkg:generic/connbook@${version}`,
    properties,
  }
  const rest = {
    components: [...bundled, ...node, ...parts],
    dependencies: [
      { ref: component['bom-ref'], dependsOn: [...bundled, ...node].map(refOf) },
      ...node.map((one) => ({ ref: refOf(one), dependsOn: parts.map(refOf) })),
      ...parts.map((part) => ({ ref: refOf(part), dependsOn: [] })),
    ],
  }
  const head = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify({ component, ...rest }))}`,
    version: 1,
  }
  return (file, executable) => {
    const named =
      file === undefined || executable === undefined
        ? component
        : {
            ...component,
            hashes: [{ alg: 'SHA-256', content: sha256Of(executable) }],
            properties: [{ name: 'connbook:file', value: file }, ...properties],
          }
    const metadata = { lifecycles: [{ phase: 'build' }], component: named }
    return `${JSON.stringify({ ...head, metadata, ...rest }, null, 2)}\n`
  }
}

/** @param {string} nodePackage */
async function lockedNode(nodePackage) {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const locked = packages[`node_modules/${nodePackage}`]
  return {
    'bom-ref': `node@${locked.version}`,
    type: 'platform',
    name: 'node',
    version: locked.version,
    description: 'Node.js, into which the program is put',
    licenses: [{ license: { id: 'MIT' } }],
    cpe: `cpe:2.3:a:nodejs:node.js:${locked.version}:*:*:*:*:*:*:*`,
    purl: `pkg:npm/${nodePackage}@${locked.version}`,
    hashes: [{ alg: 'SHA-512', content: hexOf(locked.integrity) }],
  }
}

function partsOfNode() {
  return versionedParts(process.versions).map(({ name, license: spdx, version: text, isNpm }) => ({
    'bom-ref': text === undefined ? name : `${name}@${text}`,
    type: 'library',
    name,
    ...(text === undefined
      ? {}
      : { version: text, purl: `pkg:${isNpm ? 'npm' : 'generic'}/${name}@${encodeURIComponent(text)}` }),
    licenses: [{ license: { id: spdx } }],
  }))
}

/** @type {(bytes: Uint8Array) => string} */
function sha256Of(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}

/** @type {(component: { 'bom-ref': string }) => string} */
function refOf(component) {
  return component['bom-ref']
}

/** The packages that are part of the program at run time, by the lock file; there should be none. */
async function bundledPackages() {
  const npm = process.env.npm_execpath
  const [command, ...first] = npm === undefined ? ['npm'] : [process.execPath, npm]
  const args = [
    'sbom',
    '--sbom-format',
    'cyclonedx',
    '--package-lock-only',
    '--omit',
    'dev',
    '--omit',
    'optional',
  ]
  const { stdout } = await promisify(execFile)(command, [...first, ...args], {
    cwd: root,
    shell: npm === undefined && process.platform === 'win32',
  }).catch((cause) => {
    throw new Error(`Cannot list the packages inside: npm sbom says: ${cause.stderr || cause.message}`)
  })
  return JSON.parse(stdout).components
}

/** @type {(integrity: string) => string} */
function hexOf(integrity) {
  return Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')
}

/**
 * A UUID of version 8 (RFC 9562 section 5.8), made of a text.
 *
 * @type {(text: string) => string}
 */
function uuidOf(text) {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
