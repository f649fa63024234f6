#!/usr/bin/env node
// The beginning of dist/connbook.cjs. An old Node must be able to read the whole file, to say that it is too old. So this
// is in the JavaScript of Node 12, and the program is a text, which only a Node that can read it compiles.
const NEEDED = [24, 8]

/** @type {(version: string) => boolean} */
function isTooOld(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = NEEDED
  return major < neededMajor || (major === neededMajor && minor < neededMinor)
}

/**
 * @param {Record<string, string>} texts The program, and what it reads.
 * @param {Record<string, string>} packed In base64.
 */
function start(texts, packed) {
  const version = process.versions.node
  if (isTooOld(version)) {
    process.stderr.write(
      `connbook: Cannot run on Node ${version}: it needs Node ${NEEDED.join('.')} or later\n`,
    )
    process.exitCode = 1
    return
  }
  // Whoever uses the program can do nothing about them.
  process.removeAllListeners('warning')
  // Node would open a debugger on this signal.
  process.on('SIGUSR1', () => {})
  const filename = 'connbook.cjs'
  const { compileFunction } = require('node:vm')
  const program = compileFunction(texts[filename] || '', ['require', 'builtParts'], { filename })
  program(require, {
    file: process.argv[1],
    text: (/** @type {string} */ name) => texts[name],
    bytes: (/** @type {string} */ name) => Buffer.from(packed[name] || '', 'base64'),
  })
}

start({}, {})
