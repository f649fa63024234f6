import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** Of all files of the console together. */
export const CONSOLE_BYTES_MAX = 150 * 1024
/** The same, as gzip. */
export const CONSOLE_GZIP_BYTES_MAX = 48 * 1024

/** The browsers of the last two years. */
const BROWSERS = ['chrome131', 'edge131', 'firefox132', 'safari18.1']
const HASH_CHARACTERS = 16
const ETAG_CHARACTERS = 22
/** RFC 1952 section 2.3: the byte that names the system that compressed, and its value for an unknown one. */
const [GZIP_SYSTEM_AT, GZIP_SYSTEM_UNKNOWN] = [9, 255]

const root = join(import.meta.dirname, '..')

/** @typedef {import('../src/resources/console-files.ts').ConsoleFile} ConsoleFile */

/**
 * Makes the files of the console from its source: script and style are bundled, minified and named by their hash. The
 * same source gives the same bytes on every machine.
 *
 * @param {string} folder Has index.html, style.css and main.ts.
 * @returns {Promise<ConsoleFile[]>}
 * @throws {Error} if the source has faults.
 */
export async function makeConsole(folder = join(root, 'src/console')) {
  const outputFiles = await bundle(folder)
  /** @type {(extension: string) => Uint8Array} */
  const contentsOf = (extension) =>
    outputFiles.find(({ path }) => extname(path) === extension)?.contents ?? new Uint8Array()
  const script = nameByHash('main', '.js', contentsOf('.js'))
  const style = nameByHash('style', '.css', contentsOf('.css'))
  const source = await readFile(join(folder, 'index.html'), 'utf8')
  const page = [
    { from: 'src="main.ts"', to: `src="${script.name}"` },
    { from: 'href="style.css"', to: `href="${style.name}"` },
  ].reduce(replaceReference, source.replaceAll(/\s*<!--.*?-->/gs, ''))
  return [
    fileOf('', 'text/html; charset=utf-8', Buffer.from(page)),
    fileOf(script.name, 'text/javascript; charset=utf-8', script.bytes),
    fileOf(style.name, 'text/css; charset=utf-8', style.bytes),
  ]
}

/**
 * @param {readonly Pick<ConsoleFile, 'bytes' | 'gzip'>[]} files
 * @throws {Error} if they are larger than the limits, together.
 */
export function checkConsoleSize(files) {
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0)
  const gzipBytes = files.reduce((sum, file) => sum + file.gzip.length, 0)
  if (bytes <= CONSOLE_BYTES_MAX && gzipBytes <= CONSOLE_GZIP_BYTES_MAX) return
  throw new Error(
    `Cannot use the console: it has ${bytes} bytes and ${gzipBytes} as gzip, and may have ${CONSOLE_BYTES_MAX} and ${CONSOLE_GZIP_BYTES_MAX}; make src/console smaller, then build again`,
  )
}

/** @param {string} folder */
async function bundle(folder) {
  const { build } = await import('esbuild')
  try {
    const { outputFiles } = await build({
      absWorkingDir: root,
      entryPoints: [join(folder, 'main.ts'), join(folder, 'style.css')],
      outdir: join(root, 'dist'),
      // Otherwise esbuild reads the first tsconfig.json in a folder above.
      tsconfig: join(root, 'src/console/tsconfig.json'),
      bundle: true,
      minify: true,
      format: 'esm',
      target: BROWSERS,
      charset: 'utf8',
      legalComments: 'none',
      write: false,
    })
    return outputFiles
  } catch {
    throw new Error(`Cannot bundle ${folder}: mend what esbuild names above, then build again`)
  }
}

/** @type {(stem: string, extension: string, bytes: Uint8Array) => { name: string, bytes: Uint8Array }} */
function nameByHash(stem, extension, bytes) {
  return { name: `${stem}-${hashOf(bytes).slice(0, HASH_CHARACTERS)}${extension}`, bytes }
}

/** @type {(page: string, reference: { from: string, to: string }) => string} */
function replaceReference(page, { from, to }) {
  const [before = '', after, ...more] = page.split(from)
  if (after !== undefined && more.length === 0) return before + to + after
  throw new Error(
    `Cannot use src/console/index.html: it must have ${from} once, and has it ${page.split(from).length - 1} times`,
  )
}

/** @type {(name: string, type: string, bytes: Uint8Array) => ConsoleFile} */
function fileOf(name, type, bytes) {
  const gzip = gzipSync(bytes, { level: 9 })
  // Otherwise it would differ between Linux, macOS and Windows.
  gzip[GZIP_SYSTEM_AT] = GZIP_SYSTEM_UNKNOWN
  return { name, type, bytes, gzip, etag: etagOf(bytes), gzipEtag: etagOf(gzip) }
}

/** @param {Uint8Array} bytes */
function etagOf(bytes) {
  return `"${hashOf(bytes).slice(0, ETAG_CHARACTERS)}"`
}

/** @param {Uint8Array} bytes */
function hashOf(bytes) {
  return createHash('sha256').update(bytes).digest('base64url')
}
