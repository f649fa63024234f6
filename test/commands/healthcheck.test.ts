import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import { askHealth, UnhealthyError } from '../../src/commands/healthcheck.ts'
import { makeCertificate } from '../support/certificate.ts'
import { runCommand } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const check = (args: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
  runCommand(['healthcheck', ...args], { environment })

/** Starts a server that is not connbook; returns its port. */
async function listen(t: TestContext, answer: RequestListener, host = '127.0.0.1'): Promise<number> {
  const server = createServer(answer).listen(0, host)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const portOf = (url: string) => new URL(url).port

describe('connbook healthcheck', () => {
  it('exits with 0 for a ready server, found by the flags and variables of serve', async (t) => {
    const { url } = await start(t, { flags: ['--base-path', '/book'] })
    const port = portOf(url)
    const ready = { code: 0, stdout: `http://127.0.0.1:${port}/book/readyz answers 200\n`, stderr: '' }
    assert.deepEqual(await check(['--port', port, '--base-path=/book']), ready)
    for (const host of ['127.0.0.1', '0.0.0.0']) {
      const environment = { CONNBOOK_PORT: port, CONNBOOK_BASE_PATH: '/book/', CONNBOOK_HOST: host }
      assert.deepEqual(await check([], environment), ready)
    }
    assert.deepEqual(await check([url]), ready)
    assert.deepEqual(await check([`${url}/`], { CONNBOOK_PORT: '1' }), ready)
    assert.deepEqual(await check([`${url}/readyz`]), ready)
    const alive = { code: 0, stdout: `http://127.0.0.1:${port}/book/healthz answers 200\n`, stderr: '' }
    assert.deepEqual(await check([url, '--live']), alive)
    assert.deepEqual(await check([`${url}/healthz`]), alive)
  })

  it('exits with 1 for any other answer, and reports it', async (t) => {
    let status = 503
    const port = await listen(t, (_, response) => response.writeHead(status).end('x'.repeat(1_000_000)))
    const args = ['--port', String(port)]
    const refusal = (what: string, path: string) => ({
      code: 1,
      stdout: '',
      stderr: `connbook: Not ${what}: http://127.0.0.1:${port}/${path} answers ${status}\n`,
    })
    assert.deepEqual(await check(args), refusal('ready', 'readyz'))
    assert.deepEqual(await check([...args, '--live']), refusal('alive', 'healthz'))
    for (status of [404, 301, 204]) assert.deepEqual(await check(args), refusal('ready', 'readyz'))
  })

  it('requests /readyz, or /healthz with --live, by a GET without a body', async (t) => {
    const asked: unknown[] = []
    const port = await listen(t, ({ method, url, headers }, response) => {
      asked.push([method, url, headers.host, headers['content-length'], headers['transfer-encoding']])
      response.end()
    })
    assert.equal((await check(['--port', String(port)])).code, 0)
    assert.equal((await check([`http://localhost:${port}/x/`, '--live'])).code, 0)
    assert.deepEqual(asked, [
      ['GET', '/readyz', `127.0.0.1:${port}`, undefined, undefined],
      ['GET', '/x/healthz', `localhost:${port}`, undefined, undefined],
    ])
  })

  const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ address }) => address === '::1'),
  )
  it('connects over IPv6 when --host is an IPv6 address', {
    skip: !hasIPv6 && 'this machine has no ::1',
  }, async (t) => {
    const port = await listen(t, (_, response) => response.end(), '::1')
    const stdout = `http://[::1]:${port}/readyz answers 200\n`
    for (const host of ['::1', '::'])
      assert.deepEqual(await check(['--port', String(port), '--host', host]), { code: 0, stdout, stderr: '' })
    assert.equal((await check([`http://[::1]:${port}`])).code, 0)
  })

  it('connects to the Unix socket that --listen names', async (t) => {
    const path = join(await temporaryFolder(t), 'http')
    await start(t, { place: ['--listen', `unix:${path}`], flags: ['--base-path', '/b'] })
    const stdout = `http://localhost/b/readyz on ${path} answers 200\n`
    for (const [args, environment] of [
      [['--listen', `unix:${path}`, '--base-path', '/b'], {}],
      [[], { CONNBOOK_LISTEN: `unix:${path}`, CONNBOOK_BASE_PATH: '/b' }],
    ] as const)
      assert.deepEqual(await check(args, environment), { code: 0, stdout, stderr: '' })
    const { code, stderr } = await check(['--listen', `unix:${path}.none`])
    assert.equal(code, 1)
    assert.match(stderr, /^connbook: No answer from http:\/\/localhost\/readyz on \/[^\n]+ENOENT[^\n]+\n$/)
  })

  it('exits with 1 and one line when nothing listens', async () => {
    const port = await freePort()
    for (const args of [['--port', String(port)], [`http://localhost:${port}`]]) {
      const { code, stdout, stderr } = await check(args)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(
        stderr,
        /^connbook: No answer from http:\/\/[^\n]+\/readyz: connect ECONNREFUSED [^\n]+\n$/,
      )
    }
  })

  it('does not wait forever for a silent server', async (t) => {
    const port = await listen(t, () => {})
    await assert.rejects(
      askHealth(`http://127.0.0.1:${port}`, parseCommandLine([], {}, serverFlags).options, 50),
      (error) => error instanceof UnhealthyError && /\/readyz: none within 0\.05 s$/.test(error.message),
    )
  })

  it('uses TLS when the server does, whoever signed its certificate', async (t) => {
    const certificate = await makeCertificate(t)
    const { url } = await start(t, { tls: certificate })
    const port = portOf(url)
    const files = { CONNBOOK_TLS_CERT: certificate.certPath, CONNBOOK_TLS_KEY: certificate.keyPath }
    const stdout = `https://127.0.0.1:${port}/readyz answers 200\n`
    assert.deepEqual(await check(['--port', port], files), { code: 0, stdout, stderr: '' })
    assert.equal((await check([`https://localhost:${port}`])).code, 0)
    const plain = await check(['--port', port])
    assert.equal(plain.code, 1)
    assert.match(plain.stderr, /^connbook: No answer from http:[^\n]+\n$/)
  })

  const [outside] = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
  const skip = outside === undefined && 'this machine has no address but its loopback'
  it('does not trust a self-signed certificate of another machine', { skip }, async (t) => {
    const { cert, key } = await makeCertificate(t)
    const server = createTlsServer({ cert, key }, (_, response) => response.end()).listen(0)
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    assert.equal((await check([`https://127.0.0.1:${port}`])).code, 0)
    const { code, stderr } = await check([`https://${outside?.address}:${port}`])
    assert.equal(code, 1)
    assert.match(stderr, /^connbook: No answer from https:[^\n]+self-signed certificate\n$/)
  })

  const misuses: Record<string, string> = {
    '--port 0': 'Cannot ask on port 0; give the --port that the server has got',
    'localhost:8080': 'Cannot ask "localhost:8080": it must be a URL such as http://localhost:8080',
    'file:///x': 'Cannot ask "file:///x": it must be a URL such as http://localhost:8080',
    'http://a http://b': 'Write it as: connbook healthcheck, or: connbook healthcheck URL',
    '--data x': 'Unknown flag "--data"; see connbook help',
  }
  for (const [words, message] of Object.entries(misuses)) {
    it(`${words}: exits with 2`, async () => {
      const stderr = `connbook: ${message}\n`
      assert.deepEqual(await check(words.split(' ')), { code: 2, stdout: '', stderr })
    })
  }
})
