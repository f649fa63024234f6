import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { cp, mkdir, open, readFile, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { version } from '../../src/version.ts'
import { missing } from '../support/debian.ts'
import { executable } from '../support/executable.ts'
import { extent } from '../support/extent.ts'
import { freePort } from '../support/free-port.ts'
import { createClient } from '../support/http-client.ts'
import { linesUntil } from '../support/lines-until.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const ARM64_LIBRARIES = '/usr/aarch64-linux-gnu'

/**
 * Builds from a copy of the source, in a folder below somebody else's settings; returns the folder with the output.
 */
async function buildElsewhere(t: Lifetime, targets: readonly string[]): Promise<string> {
  const folder = await temporaryFolder(t)
  const copy = join(folder, 'a copy')
  await mkdir(copy)
  const compilerOptions = { alwaysStrict: false, target: 'es5', useDefineForClassFields: false }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'commonjs', sideEffects: false }))
  for (const name of ['src', 'build.mjs', '.build', 'package.json', 'package-lock.json', 'tsconfig.json'])
    await cp(join(root, name), join(copy, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  const args = targets.flatMap((target) => ['--target', target])
  await run(process.execPath, [join(copy, 'build.mjs'), ...args], { cwd: '/' })
  return join(copy, 'dist')
}

const digestOf = (path: string) => readFile(`${path}.sha256`, 'utf8')

/** What must be beside an executable. */
async function assertAccompanied(path: string) {
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

/** The types of the sections of an ELF file, and its machine. */
async function readElf(path: string) {
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

const [SYMBOLS, X64, ARM64] = [2, 62, 183]

describe('the build', { skip: process.platform !== 'linux' && 'it is for Linux' }, () => {
  it('has no symbols, and has its checksum, its parts and all licence notices beside it', async () => {
    await assertAccompanied(executable)
    const { machine, types } = await readElf(executable)
    assert.ok(process.arch === 'x64' ? machine === X64 : machine === ARM64)
    assert.ok(types.length > 20 && !types.includes(SYMBOLS))
  })

  it('has the same bytes when made in another folder and under another name', async (t) => {
    const target = `linux-${process.arch}`
    const dist = await buildElsewhere(t, [target])
    const [digest] = (await digestOf(join(dist, `connbook-${target}`))).split(' ')
    assert.equal(await digestOf(executable), `${digest}  connbook\n`)
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

const whyNotElsewhere =
  process.platform !== 'linux'
    ? 'it is for Linux'
    : extent<string | false>({ quick: 'it takes a minute: npm run test:faults', full: false })

describe('builds for other machines', { skip: whyNotElsewhere }, async () => {
  const targets = ['linux-arm64', 'win-x64']
  const files = ['connbook-linux-arm64', 'connbook-win-x64.exe']
  const dist = await buildElsewhere({ after }, targets)

  it('have checksums and licence notices, and the same bytes each time', async (t) => {
    const again = await buildElsewhere(t, targets)
    for (const file of files) {
      await assertAccompanied(join(dist, file))
      assert.equal(await digestOf(join(dist, file)), await digestOf(join(again, file)))
    }
  })

  it('are for those machines, and have no symbols', async () => {
    const { machine, types } = await readElf(join(dist, 'connbook-linux-arm64'))
    assert.equal(machine, ARM64)
    assert.ok(types.length > 20 && !types.includes(SYMBOLS))
    const file = await open(join(dist, 'connbook-win-x64.exe'))
    const { buffer } = await file.read(Buffer.alloc(1024), 0, 1024, 0)
    await file.close()
    const header = buffer.readUInt32LE(0x3c)
    assert.deepEqual(
      [buffer.toString('latin1', header, header + 4), buffer.readUInt16LE(header + 4)],
      ['PE\0\0', 0x8664],
    )
  })

  const skip = missing('qemu-aarch64-static')
  it('serve on arm64, and keep what they acknowledged', { skip }, async (t) => {
    const folder = join(await temporaryFolder(t), 'data')
    const arm64 = [join(dist, 'connbook-linux-arm64')]
    const environment = { PATH: process.env.PATH, QEMU_LD_PREFIX: ARM64_LIBRARIES }
    const port = String(await freePort())
    const child = spawn(
      'qemu-aarch64-static',
      [...arm64, '--host', '127.0.0.1', '--port', port, '--data', folder],
      {
        env: environment,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    t.after(() => child.kill('SIGKILL'))
    const log = await linesUntil(child.stderr, '"event":"listening"')
    const url = `http://127.0.0.1:${port}`
    assert.ok(log.includes(`"url":"${url}"`), log)
    const credentials: unknown = JSON.parse(await readFile(join(folder, 'initial-credentials.json'), 'utf8'))
    const login = await createClient(url)('POST', '/login', { body: credentials })
    assert.deepEqual([login.status, login.text], [200, 'Authorized'])
    const Cookie = String(login.headers['set-cookie']).split(';')[0] ?? ''
    const record = { name: 'a', hostname: 'a.example', port: 22, username: 'u' }
    const added = await createClient(url, { Cookie })('POST', '/configurations/', { body: record })
    assert.equal(added.status, 200, added.text)
    const check = await run('qemu-aarch64-static', [...arm64, 'healthcheck', url], { env: environment })
    assert.equal(check.stdout, `${url}/readyz answers 200\n`)
    child.kill('SIGKILL')
    // The executable for this machine reads what the arm64 one wrote.
    const { stdout } = await run(executable, ['backup', '-', '--data', folder])
    assert.match(stdout, /"name":"a","hostname":"a\.example"/)
  })
})
