import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, open, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { SOURCES } from '../../.build/commit.mjs'
import { missing } from '../support/debian.ts'
import { executable, startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'
import { ARM64, assertAccompanied, digestOf, readElf, SYMBOLS } from './built.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const ARM64_LIBRARIES = '/usr/aarch64-linux-gnu'
const skip = process.platform !== 'linux' && 'it is for Linux'

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
  // With .git, the copy names the same commit.
  const names = [...SOURCES, ...(existsSync(join(root, '.git')) ? ['.git'] : [])]
  for (const name of names) await cp(join(root, name), join(copy, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  const args = targets.flatMap((target) => ['--target', target])
  await run(process.execPath, [join(copy, 'build.mjs'), ...args], { cwd: '/' })
  return join(copy, 'dist')
}

describe('the build', { skip }, () => {
  it('has the same bytes when made in another folder and under another name', async (t) => {
    const target = `linux-${process.arch}`
    const dist = await buildElsewhere(t, [target])
    const [digest] = (await digestOf(join(dist, `connbook-${target}`))).split(' ')
    assert.equal(await digestOf(executable), `${digest}  connbook\n`)
  })
})

describe('builds for other machines', { skip }, async () => {
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

  it('serve on arm64, and keep what they acknowledged', {
    skip: missing('qemu-aarch64-static'),
  }, async (t) => {
    const folder = join(await temporaryFolder(t), 'data')
    const program = ['qemu-aarch64-static', join(dist, 'connbook-linux-arm64')] as const
    const environment = { QEMU_LD_PREFIX: ARM64_LIBRARIES }
    const { url, stop } = await startExecutable(t, ['--data', folder], { program, environment })
    const credentials: unknown = JSON.parse(await readFile(join(folder, 'initial-credentials.json'), 'utf8'))
    const login = await createClient(url)('POST', '/login', { body: credentials })
    assert.deepEqual([login.status, login.text], [200, 'Authorized'])
    const Cookie = String(login.headers['set-cookie']).split(';')[0] ?? ''
    const record = { name: 'a', hostname: 'a.example', port: 22, username: 'u' }
    const added = await createClient(url, { Cookie })('POST', '/configurations/', { body: record })
    assert.equal(added.status, 200, added.text)
    const [command, ...rest] = program
    const env = { PATH: process.env.PATH, ...environment }
    const check = await run(command, [...rest, 'healthcheck', url], { env })
    assert.equal(check.stdout, `${url}/readyz answers 200\n`)
    assert.equal(await stop('SIGKILL'), 'SIGKILL')
    // The executable for this machine reads what the arm64 one wrote.
    const { stdout } = await run(executable, ['backup', '-', '--data', folder])
    assert.match(stdout, /"name":"a","hostname":"a\.example"/)
  })
})
