// The main script of the executable: it starts the program, which is an asset. The program's code is compiled already if
// it was built on a machine of the same kind; then every start is a quarter shorter.
const { getAsset, getAssetKeys, getRawAsset } = require('node:sea')
const { compileFunction } = require('node:vm')

const filename = 'connbook.cjs'
const codeCache = `${filename}.cache`
// V8 compiles the program itself if it cannot use the cache.
const cachedData = getAssetKeys().includes(codeCache) ? new Uint8Array(getRawAsset(codeCache)) : undefined
const program = compileFunction(getAsset(filename, 'utf8'), ['require', 'builtParts'], {
  filename,
  cachedData,
})
program(require, {
  text: (/** @type {string} */ name) => getAsset(name, 'utf8'),
  // Without a copy.
  bytes: (/** @type {string} */ name) => new Uint8Array(getRawAsset(name)),
})
