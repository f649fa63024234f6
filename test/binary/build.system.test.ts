import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { executable } from '../support/executable.ts'
import { ARM64, assertAccompanied, readElf, SYMBOLS, X64 } from './built.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

describe('the build', { skip: process.platform !== 'linux' && 'it is for Linux' }, () => {
  it('has no symbols, and has its checksum, its parts and all licence notices beside it', async () => {
    await assertAccompanied(executable)
    const { machine, types } = await readElf(executable)
    assert.ok(process.arch === 'x64' ? machine === X64 : machine === ARM64)
    assert.ok(types.length > 20 && !types.includes(SYMBOLS))
  })

  const refusals: Record<string, RegExp> = {
    '--target linux-mips':
      /^Cannot build for linux-mips: it can be linux-x64, linux-arm64, win-x64, darwin-arm64\n$/,
    '--target darwin-arm64':
      /^Cannot build for darwin-arm64 here: macOS runs only what is signed; build on a Mac\n$/,
    '--target win-x64 --deb':
      /^Cannot make a package of Debian for win-x64: it can be linux-x64, linux-arm64\n$/,
    '--targets linux-x64':
      /^Unknown option '--targets'[^\n]*; write: npm run build -- \[--target NAME\] \[--deb\]\n$/,
    '--target': /^[^\n]+; write: npm run build -- \[--target NAME\] \[--deb\]\n$/,
  }
  for (const [words, message] of Object.entries(refusals)) {
    it(`refuses ${words} with one line`, async () => {
      const building = run(process.execPath, [join(root, 'build.mjs'), ...words.split(' ')])
      await assert.rejects(building, ({ code, stderr }) => code === 1 && message.test(stderr))
    })
  }
})
