import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { open, readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { promisify } from 'node:util'
import { version } from '../../src/version.ts'

const run = promisify(execFile)

/** The line that is written for `sha256sum`. */
export const digestOf = (path: string) => readFile(`${path}.sha256`, 'utf8')

/** What must be beside an executable. */
export async function assertAccompanied(path: string) {
  const { stdout } = await run('sha256sum', ['--check', `${basename(path)}.sha256`], { cwd: dirname(path) })
  assert.equal(stdout, `${basename(path)}: OK\n`)
  const notices = await readFile(`${path}.licenses.txt`, 'utf8')
  assert.ok(
    notices.startsWith(`Inside are connbook ${version} (UNLICENSED) and Node.js ${process.version}, `),
  )
  for (const part of ['Copyright Node.js contributors', 'V8', 'OpenSSL', 'ICU', 'llhttp', 'libuv', 'zlib'])
    assert.ok(notices.includes(part), part)
  const sbom = JSON.parse(await readFile(`${path.replace(/\.exe$/, '')}.cdx.json`, 'utf8'))
  const digest = (await digestOf(path)).split(' ')[0]
  assert.deepEqual(sbom.metadata.component.hashes, [{ alg: 'SHA-256', content: digest }])
}

/** The types of the sections of an ELF file (elf(5)), and its machine. */
export async function readElf(path: string) {
  const file = await open(path)
  try {
    const head = (await file.read(Buffer.alloc(64), 0, 64, 0)).buffer
    assert.equal(head.toString('latin1', 0, 4), '\x7fELF')
    const length = head.readUInt16LE(0x3c) * 64
    const table = (await file.read(Buffer.alloc(length), 0, length, Number(head.readBigUInt64LE(0x28))))
      .buffer
    const types = Array.from({ length: length / 64 }, (_, i) => table.readUInt32LE(i * 64 + 4))
    return { machine: head.readUInt16LE(0x12), types }
  } finally {
    await file.close()
  }
}

/** Numbers of elf(5): a type of section, and two machines. */
export const [SYMBOLS, X64, ARM64] = [2, 62, 183]
