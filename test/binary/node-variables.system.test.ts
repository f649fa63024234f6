import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { makeCertificate } from '../support/certificate.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const shown = await runExecutable(['--version'])
assert.match(shown.stdout, /^connbook \d/)
assert.deepEqual([shown.code, shown.stderr], [0, ''])

describe('the executable under variables of Node', () => {
  const options: Record<string, (file: string) => string> = {
    'to load a module': (file) => `--require ${file}`,
    'to load a module, quoted': (file) => `--require="${file}"`,
    'to import a module': (file) => `--import ${file}`,
    'to open a debugger': () => '--inspect=127.0.0.1:0',
    'that Node does not know': () => '--no-such-option',
    'to print a report': () => '--trace-exit --trace-uncaught --cpu-prof',
  }
  for (const [what, optionsOf] of Object.entries(options)) {
    it(`ignores NODE_OPTIONS ${what}`, async (t) => {
      const folder = await temporaryFolder(t)
      const file = join(folder, 'loaded.cjs')
      await writeFile(file, "require('node:fs').writeFileSync(__filename + '.seen', '')")
      const environment = { NODE_OPTIONS: optionsOf(file) }
      assert.deepEqual(await runExecutable(['--version'], { environment, cwd: folder }), shown)
      assert.deepEqual(await readdir(folder), ['loaded.cjs'])
    })
  }

  it('writes no files of Node, and none of its messages', async (t) => {
    const folder = await temporaryFolder(t)
    const place = (name: string) => join(folder, name)
    await mkdir(place('cache'))
    const environment = {
      NODE_V8_COVERAGE: place('coverage'),
      NODE_COMPILE_CACHE: place('cache'),
      NODE_REDIRECT_WARNINGS: place('warnings'),
      NODE_PENDING_DEPRECATION: '1',
      NODE_DEBUG: 'http,net',
      NODE_EXTRA_CA_CERTS: place('missing.pem'),
    }
    assert.deepEqual(await runExecutable(['--version'], { environment }), shown)
    assert.deepEqual(await readdir(folder), ['cache'])
    const cached = await readdir(place('cache'), { recursive: true, withFileTypes: true })
    assert.deepEqual(
      cached.filter((entry) => entry.isFile()),
      [],
    )
  })

  const configurations: Record<string, (module: string) => string> = {
    'that loads a module': (module) =>
      `openssl_conf = i\nnodejs_conf = i\n[i]\nproviders = p\n[p]\nx = s\n[s]\nmodule = ${module}\nactivate = 1\n`,
    'that is broken': () => 'nodejs_conf = i\n[i\n',
  }
  for (const [what, textOf] of Object.entries(configurations)) {
    it(`ignores a configuration of OpenSSL ${what}`, async (t) => {
      const folder = await temporaryFolder(t)
      const file = join(folder, 'openssl.cnf')
      await writeFile(file, textOf(join(folder, 'module.so')))
      for (const environment of [{ OPENSSL_CONF: file }, { OPENSSL_CONF: file, NODE_DEBUG: 'net' }])
        assert.deepEqual(await runExecutable(['--version'], { environment }), shown)
    })
  }

  it('serves with them, under its first pid and without them in its environment', async (t) => {
    const folder = join(await temporaryFolder(t), 'data')
    const environment = { NODE_UNIQUE_ID: '1', NODE_DEBUG: 'net', NODE_ENV: 'production' }
    const server = await startExecutable(t, ['--data', folder], { environment })
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
    assert.match(server.stderr(), new RegExp(`"pid":${server.process.pid}\\b`))
    const kept = (await readFile(`/proc/${server.process.pid}/environ`, 'latin1')).split('\0')
    assert.deepEqual(
      kept.filter((entry) => entry.startsWith('NODE_')),
      ['NODE_ENV=production'],
    )
    assert.equal(await server.stop(), 0)
  })

  it('keeps a descriptor that a variable of connbook names', async (t) => {
    const folder = await temporaryFolder(t)
    const file = join(folder, 'password')
    await writeFile(file, 'correct horse')
    const environment = { NODE_NAME: 'x', CONNBOOK_ADMIN_PASSWORD_FILE: '/dev/fd/9', FILE: file }
    const through = ['/bin/bash', '-c', 'exec 9< "$FILE"; exec "$0" "$@"']
    const server = await startExecutable(t, ['--data', join(folder, 'data')], { environment, through })
    assert.equal(await server.stop(), 0)
  })

  const [outside] = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
  const skip = outside === undefined && 'this machine has no address but its loopback'
  it('trusts no other certificates with them', { skip }, async (t) => {
    const { cert, key, certPath } = await makeCertificate(t)
    const server = createTlsServer({ cert, key }, (_, response) => response.end()).listen(0)
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const environment of [{ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, { NODE_EXTRA_CA_CERTS: certPath }]) {
      const url = `https://${outside?.address}:${port}`
      const { code, stderr } = await runExecutable(['healthcheck', url], { environment })
      assert.equal(code, 1)
      assert.match(stderr, /self-signed certificate\n$/)
    }
  })
})
