import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, lstat, mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { systemCode } from '../../src/errors.ts'
import { noNginx, startNginx } from '../proxy/nginx.ts'
import { makeCertificate } from '../support/certificate.ts'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { executable, runExecutable, startExecutable } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { type Ask, createClient } from '../support/http-client.ts'
import { parseAnswers } from '../support/raw-http.ts'
import { admin, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

/** Starts the executable on a Unix socket in its own folder. */
async function startOnSocket(t: TestContext, ...flags: string[]) {
  const folder = await temporaryFolder(t)
  const path = join(folder, 'http')
  await cp(await usedFolder(t), join(folder, 'data'), { recursive: true })
  const begin = () =>
    startExecutable(t, ['--data', join(folder, 'data'), ...flags], {
      place: ['--listen', `unix:${path}`],
    })
  return { folder, path, begin, server: await begin(), ask: clientOf(path) }
}

function clientOf(socketPath: string): Ask {
  return createClient('http://localhost', {}, { socketPath })
}

/** Begins a login and waits until the server reads its body, so that the request is in flight. */
async function beginLogin(t: TestContext, place: { path: string } | { host: string; port: number }) {
  const body = JSON.stringify(admin)
  const socket: Socket = connect(place)
  t.after(() => void socket.destroy())
  const head = ['POST /login HTTP/1.1', 'Host: a', 'Expect: 100-continue', `Content-Length: ${body.length}`]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  return async () => {
    socket.write(body)
    const [answer] = parseAnswers(Buffer.concat(await socket.toArray()).toString())
    return answer?.status
  }
}

describe('--listen unix:PATH', () => {
  it('serves curl on a socket for its owner and group, and removes it at the end', {
    skip: missing('curl'),
  }, async (t) => {
    const { path, server } = await startOnSocket(t)
    const status = await lstat(path)
    assert.ok(status.isSocket())
    assert.equal(status.mode & 0o777, 0o660)
    const { stdout } = await run('curl', ['-s', '--unix-socket', path, 'http://localhost/readyz'])
    assert.equal(stdout, '{"status":"ready"}')
    const [line] = server.stderr().split('\n')
    const { url, socket } = JSON.parse(line ?? '') as { url: string; socket: string }
    assert.deepEqual([url, socket], ['http://localhost', path])
    assert.ok(!server.stderr().includes('plain_http'))
    assert.equal(await server.stop(), 0)
    await assert.rejects(lstat(path), { code: 'ENOENT' })
  })

  it('replaces the stale socket of a killed process', async (t) => {
    const { path, begin, server, ask } = await startOnSocket(t)
    await server.stop('SIGKILL')
    assert.ok((await lstat(path)).isSocket())
    await begin()
    assert.equal((await ask('GET', '/readyz')).status, 200)
  })

  it('refuses the socket of a live process, which is unaffected', async (t) => {
    const { folder, path, server, ask } = await startOnSocket(t)
    const args = ['--listen', `unix:${path}`, '--data', join(folder, 'other')]
    const { code, stderr } = await runExecutable(args)
    assert.equal(code, 1)
    assert.equal(
      stderr,
      `connbook: Cannot listen on socket "${path}": another process (pid ${server.process.pid}, connbook) listens there; stop it, or choose another path with --listen\n`,
    )
    assert.equal((await ask('GET', '/readyz')).status, 200)
  })

  it('refuses and keeps a file that is not a socket, and refuses a path where none can be', async (t) => {
    const folder = await temporaryFolder(t)
    const file = join(folder, 'file')
    await writeFile(file, 'kept')
    await mkdir(join(folder, 'folder'))
    const long = join(folder, 'x'.repeat(108))
    for (const [path, reason] of [
      [file, 'something else is there that is no socket'],
      [join(folder, 'folder'), 'something else is there that is no socket'],
      [join(folder, 'none', 'http'), 'its folder is missing, or not for this account to write to; make it'],
      [long, `its path has ${Buffer.byteLength(long)} bytes, and the system takes 107`],
    ] as const) {
      const args = ['--listen', `unix:${path}`, '--data', join(folder, 'data')]
      const { code, stderr } = await runExecutable(args)
      assert.equal(code, 1)
      assert.ok(stderr.startsWith(`connbook: Cannot listen on socket "${path}": ${reason}`), stderr)
    }
    assert.equal(await readFile(file, 'utf8'), 'kept')
  })

  it('has callers without an address, and trusts their proxy headers only when told to', async (t) => {
    for (const [flags, expected] of [
      [[], ['unix', 'connbook_session']],
      [
        ['--trust-proxy', '0.0.0.0/0', '--trust-proxy', '::/0'],
        ['unix', 'connbook_session'],
      ],
      [
        ['--trust-proxy', 'unix'],
        ['192.0.2.7', '__Host-connbook_session'],
      ],
    ] as const) {
      const { ask, folder, server } = await startOnSocket(t, ...flags, '--access-log')
      const headers = { 'X-Forwarded-For': '192.0.2.7', 'X-Forwarded-Proto': 'https' }
      const login = await ask('POST', '/login', { body: admin, headers })
      await server.stop()
      const logged = server
        .stderr()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { address?: string })
      const addresses = logged.flatMap(({ address }) => address ?? [])
      assert.deepEqual(addresses, [expected[0], expected[0]])
      assert.equal(login.headers['set-cookie']?.[0]?.split(/_[0-9a-f]{8}=/)[0], expected[1])
      assert.ok((await readFile(join(folder, 'data', 'audit.jsonl'), 'utf8')).includes(`"${expected[0]}"`))
    }
  })

  it('serves requests that nginx forwards', { skip: noNginx }, async (t) => {
    const { path, server } = await startOnSocket(t, '--trust-proxy', 'unix', '--base-path', '/base')
    const nginx = await startNginx(
      t,
      (port) => `
        upstream connbook { server unix:${path}; keepalive 4; }
        server {
          listen 127.0.0.1:${port};
          location /base/ {
            proxy_pass http://connbook;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
          }
        }`,
    )
    const url = `http://127.0.0.1:${nginx.port}/base`
    const logIn = () => createClient(url)('POST', '/login', { body: admin })
    const logins = await Promise.all(Array.from({ length: 8 }, logIn))
    assert.deepEqual(
      logins.map(({ status, headers }) => [status, /Path=([^;]+)/.exec(String(headers['set-cookie']))?.[1]]),
      logins.map(() => [200, '/base']),
    )
    assert.equal(server.stderr().match(/"event":"logged_in".*"address":"127\.0\.0\.1"/g)?.length, 8)
  })

  it('answers requests in flight when it is asked to stop, and accepts no new ones', async (t) => {
    const { path, server, ask } = await startOnSocket(t)
    const goOn = await beginLogin(t, { path })
    const stopped = server.stop()
    await eventually('it is stopping', () => server.stderr().includes('"event":"stopping"'))
    const isRefused = () =>
      ask('GET', '/healthz').then(
        () => false,
        (error) => systemCode(error) === 'ENOENT',
      )
    await eventually('it accepts no new ones', isRefused)
    assert.equal(await goOn(), 200)
    assert.equal(await stopped, 0)
  })
})

/** Lets systemd's own tool listen and start the executable when a client connects. */
async function activate(t: TestContext, listen: readonly string[], flags: readonly string[] = []) {
  const folder = await usedFolder(t)
  const sockets = listen.map((place) => `--listen=${place}`)
  const args = [...sockets, executable, '--data', folder, ...flags]
  const child = spawn('systemd-socket-activate', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await eventually('systemd-socket-activate listens', () => stderr.includes('Listening on'))
  return { child, exited, stderr: () => stderr }
}

describe('a socket that systemd passes', {
  skip: missing('systemd-socket-activate'),
}, () => {
  it('is served regardless of --port, including the connection that started it', async (t) => {
    const port = await freePort()
    const { child, exited, stderr } = await activate(t, [`127.0.0.1:${port}`], ['--port', '1'])
    const url = `http://127.0.0.1:${port}`
    assert.equal((await createClient(url)('GET', '/healthz')).status, 200)
    await eventually('it listens', () => stderr().includes(`"event":"listening","url":"${url}","data"`))
    const goOn = await beginLogin(t, { host: '127.0.0.1', port })
    child.kill('SIGTERM')
    await eventually('it is stopping', () => stderr().includes('"event":"stopping"'))
    assert.equal(await goOn(), 200)
    assert.deepEqual(await exited, [0, null])
  })

  it('may be a Unix socket, which is left to systemd at the end', async (t) => {
    const path = join(await temporaryFolder(t), 'of  connbook')
    const { child, exited, stderr } = await activate(t, [path])
    assert.equal((await clientOf(path)('GET', '/healthz')).status, 200)
    const named = `"url":"http://localhost","socket":"${path}"`
    await eventually('it listens', () => stderr().includes(named))
    assert.equal((await clientOf(path)('POST', '/login', { body: admin })).status, 200)
    assert.match(stderr(), /"event":"logged_in".*"address":"unix"/)
    const goOn = await beginLogin(t, { path })
    child.kill('SIGTERM')
    await eventually('it is stopping', () => stderr().includes('"event":"stopping"'))
    assert.equal(await goOn(), 200)
    assert.deepEqual(await exited, [0, null])
    assert.ok((await lstat(path)).isSocket())
  })

  it('is refused for HTTPS if it is a Unix socket', async (t) => {
    const path = join(await temporaryFolder(t), 'http')
    const { certPath, keyPath } = await makeCertificate(t)
    const { exited, stderr } = await activate(t, [path], ['--tls-cert', certPath, '--tls-key', keyPath])
    connect(path).on('error', () => {})
    assert.deepEqual(await exited, [1, null])
    assert.match(
      stderr(),
      /Cannot listen on descriptor 3, .*: it is a Unix socket, where no HTTPS is served; /,
    )
  })

  it('must be the only one', async (t) => {
    const [one, two] = [await freePort(), await freePort()]
    const { exited, stderr } = await activate(t, [`127.0.0.1:${one}`, `127.0.0.1:${two}`])
    connect(one, '127.0.0.1').on('error', () => {})
    assert.deepEqual(await exited, [2, null])
    assert.match(stderr(), /connbook: Cannot listen on the 2 sockets that systemd passes: one is taken; /)
  })
})

describe('the variables of a passed socket', () => {
  it('are ignored when they are for another process', async (t) => {
    const environment = { LISTEN_PID: '1', LISTEN_FDS: '1' }
    const { url } = await startExecutable(t, ['--data', await usedFolder(t)], { environment })
    assert.equal((await createClient(url)('GET', '/healthz')).status, 200)
  })

  it('are refused when they name a descriptor that is not a socket', async (t) => {
    for (const redirection of ['3< /dev/null', '3<&-']) {
      const script = `exec ${redirection}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"`
      const through = ['/bin/bash', '--norc', '-c', script]
      const folder = join(await temporaryFolder(t), 'data')
      const { code, stderr } = await runExecutable(['--data', folder], { through })
      assert.equal(code, 1)
      assert.match(stderr, /^connbook: Cannot listen on descriptor 3, which systemd passes: it is no socket/)
    }
  })
})
