/**
 * A part of Node: its name and licence (an identifier of SPDX) are those of Node's own LICENSE. libffi, nbytes, ncrypto and
 * SQLite are not in there, and have the licences of their authors.
 *
 * @typedef {object} NodePart
 * @property {string} name
 * @property {string} license
 * @property {string} [key] Names its version in `process.versions`; Node gives no version of a part without one.
 * @property {boolean} [isNpm] npm has it under this name and version, too.
 */

/** @type {readonly NodePart[]} */
export const nodeParts = [
  { name: 'acorn', license: 'MIT', key: 'acorn', isNpm: true },
  { name: 'ada', license: 'MIT', key: 'ada' },
  { name: 'amaro', license: 'MIT', key: 'amaro', isNpm: true },
  { name: 'brotli', license: 'MIT', key: 'brotli' },
  { name: 'c-ares', license: 'MIT', key: 'ares' },
  { name: 'caja', license: 'Apache-2.0' },
  { name: 'hdrhistogram', license: 'BSD-2-Clause' },
  { name: 'icu', license: 'Unicode-3.0', key: 'icu' },
  { name: 'inspector_protocol', license: 'BSD-3-Clause' },
  { name: 'libffi', license: 'MIT', key: 'libffi' },
  { name: 'libuv', license: 'MIT', key: 'uv' },
  { name: 'lief', license: 'Apache-2.0', key: 'lief' },
  { name: 'llhttp', license: 'MIT', key: 'llhttp' },
  { name: 'merve', license: 'MIT', key: 'merve' },
  { name: 'minimatch', license: 'BlueOak-1.0.0' },
  { name: 'nbytes', license: 'MIT', key: 'nbytes' },
  { name: 'ncrypto', license: 'MIT', key: 'ncrypto' },
  { name: 'nghttp2', license: 'MIT', key: 'nghttp2' },
  { name: 'node-fs-extra', license: 'MIT' },
  { name: 'node-heapdump', license: 'ISC' },
  { name: 'on-exit-leak-free', license: 'MIT' },
  { name: 'openssl', license: 'Apache-2.0', key: 'openssl' },
  { name: 'punycode.js', license: 'MIT' },
  { name: 'rimraf', license: 'ISC' },
  { name: 'simdjson', license: 'Apache-2.0', key: 'simdjson' },
  { name: 'simdutf', license: 'MIT', key: 'simdutf' },
  { name: 'siphash', license: 'CC0-1.0' },
  { name: 'sonic-boom', license: 'MIT' },
  { name: 'sqlite', license: 'blessing', key: 'sqlite' },
  { name: 'swc', license: 'Apache-2.0' },
  { name: 'undici', license: 'MIT', key: 'undici', isNpm: true },
  { name: 'uvwasi', license: 'MIT', key: 'uvwasi' },
  { name: 'v8', license: 'BSD-3-Clause', key: 'v8' },
  { name: 'zlib', license: 'Zlib', key: 'zlib' },
  { name: 'zstd', license: 'BSD-3-Clause', key: 'zstd' },
]

/** What Node's LICENSE names besides: it only builds or tests Node, lies beside it, or is for other builds of it. */
export const notInside = [
  'corepack',
  'cpplint.py',
  'gtest',
  'gyp',
  'gypi_to_gn.py',
  'ittapi',
  'jinja2',
  'markupsafe',
  'nghttp3',
  'ngtcp2',
  'npm',
  'postject',
]

/** Entries of `process.versions` that are no parts, but numbers of interfaces, or of the data in ICU. */
const NO_PARTS = ['node', 'modules', 'napi', 'cldr', 'tz', 'unicode']

/**
 * The parts of a Node with the versions that it gives for them.
 *
 * @param {Readonly<Record<string, string | undefined>>} versions `process.versions`; empty for a part that was left out.
 * @returns {(NodePart & { version?: string })[]}
 * @throws {Error} for a part that is not in the table.
 */
export function versionedParts(versions) {
  for (const [key, version] of Object.entries(versions))
    if (version !== '' && !NO_PARTS.includes(key) && !nodeParts.some((part) => part.key === key))
      throw new Error(`Cannot list what is in Node: its part ${key} is new; add it to .build/node-parts.mjs`)
  return nodeParts.flatMap((part) => {
    if (part.key === undefined) return [part]
    const version = versions[part.key]
    return version === undefined || version === '' ? [] : [{ ...part, version }]
  })
}
