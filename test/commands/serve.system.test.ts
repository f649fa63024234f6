import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { getToken, logIn } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { executable, runExecutable, startExecutable } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { createClient } from '../support/http-client.ts'
import { hasTerminals, startAtTerminal } from '../support/pseudo-terminal.ts'
import { parseAnswers } from '../support/raw-http.ts'
import { admin, client, firstStartEnvironment, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { linesUntil } from './remote/ssh-server.ts'

async function startServer(t: TestContext, ...flags: string[]) {
  const folder = await usedFolder(t)
  const server = await startExecutable(t, ['--data', folder, ...flags])
  const isUp = async () => (await createClient(server.url)('GET', '/healthz')).status === 200
  return { ...server, folder, isUp }
}

/** Begins a login and waits until the server reads its body, so that the request is in flight. */
async function beginLogin(t: TestContext, url: string, body: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  t.after(() => void socket.destroy())
  const head = ['POST /login HTTP/1.1', 'Host: a', 'Expect: 100-continue', `Content-Length: ${body.length}`]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  assert.match(chunk.toString(), /^HTTP\/1\.1 100 /)
  return socket
}

/** The code of the error that something ends with; undefined if it succeeds. */
function failureOf(attempt: Promise<unknown>): Promise<string | undefined> {
  return attempt.then(
    () => undefined,
    ({ code }: NodeJS.ErrnoException) => code,
  )
}

describe('a signal to stop', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`${signal} lets requests in flight finish, and exits with 0`, async (t) => {
      const { url, stderr, stop, isUp } = await startServer(t)
      const body = JSON.stringify(admin)
      const socket = await beginLogin(t, url, body)
      const stopped = stop(signal)
      await eventually('it is stopping', () => stderr().includes(`"event":"stopping","signal":"${signal}"`))
      // It says so just before it closes the port.
      await eventually(
        'it accepts no new connection',
        async () => (await failureOf(isUp())) === 'ECONNREFUSED',
      )
      socket.write(body)
      const [answer] = parseAnswers(Buffer.concat(await socket.toArray()).toString())
      assert.equal(answer?.status, 200)
      assert.match(answer?.head ?? '', /^connection: close$/im)
      assert.equal(await stopped, 0)
      assert.match(stderr(), /"event":"stopped"\}\n$/)
    })
  }

  it('does not wait forever for a client that sends nothing', async (t) => {
    const { url, stop } = await startServer(t, '--shutdown-timeout', '1s')
    await beginLogin(t, url, 'never sent')
    assert.equal(await stop(), 0)
  })

  it('is also obeyed during the start', async (t) => {
    const folder = await temporaryFolder(t)
    const child = spawn(executable, ['--host', '127.0.0.1', '--port', '0', '--data', folder], {
      stdio: 'ignore',
    })
    const exited = once(child, 'exit')
    const hasFolder = () =>
      access(join(folder, dataFiles.keys)).then(
        () => true,
        () => false,
      )
    await eventually('it has the folder', hasFolder)
    child.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
  })
})

describe('the log', () => {
  it('is JSON when standard error is not a terminal, one line per event', async (t) => {
    const folder = await temporaryFolder(t)
    const environment = firstStartEnvironment
    const { url, stderr, stop } = await startExecutable(t, ['--data', folder], { environment })
    await stop()
    const events = stderr()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      // A start that takes long on a busy machine says so first.
      .filter(({ event }) => event !== 'reading')
    assert.deepEqual(
      events.map(({ event }) => event),
      ['listening', 'first_start', 'stopping', 'stopped'],
    )
    assert.equal(events[0].url, url)
    assert.equal(events[0].data, folder)
    const { level, data, reason } = events[1]
    assert.deepEqual([level, data], ['warn', folder])
    assert.equal(reason, 'no server has started in this folder before')
  })

  it('is text when the flag says so', async (t) => {
    const folder = await usedFolder(t)
    const child = spawn(executable, ['--port', '0', '--data', folder, '--log-format', 'text'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    t.after(() => child.kill('SIGKILL'))
    let text = ''
    child.stderr.on('data', (chunk) => (text += chunk))
    await eventually('it listens', () => / listening .*\n/.test(text))
    assert.match(
      text,
      /^\S+Z info {2}listening url=http:\/\/localhost:\d+ data=\S+ records=0 version=\S+ commit=\S+ day=\S+ pid=\d+\n/m,
    )
  })

  it('is text at a terminal, or JSON when the flag says so', { skip: !hasTerminals }, async (t) => {
    for (const [flags, text] of [
      [[], 'info  listening url=http'],
      [['--log-format=json'], '"event":"listening"'],
    ] as const) {
      const terminal = startAtTerminal(t, ['--port', '0', '--data', await usedFolder(t), ...flags])
      await terminal.sees(text)
    }
  })

  it('holds no password, secret, token or cookie, whatever is requested', async (t) => {
    const { url, stderr, stop } = await startServer(t, '--access-log')
    const ask = createClient(url)
    const [session, token] = [await logIn(url, admin), await getToken(url, client)]
    const secrets = [
      'wrong password',
      'wrong secret',
      admin.password,
      client.client_secret,
      session.Cookie,
      token.Authorization,
    ]
    const cookieValue = session.Cookie.split('=')[1] ?? ''
    const bearer = token.Authorization.slice('Bearer '.length)
    const basic = Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64')
    await ask('POST', '/login', { body: { ...admin, password: 'wrong password' } })
    await ask('POST', '/login', { body: { ...admin, username: 'password in the wrong field' } })
    await ask('POST', '/v1/auth/token', { body: { ...client, client_secret: 'wrong secret' } })
    await ask('POST', '/v1/auth/token', { headers: { Authorization: `Basic ${basic}` } })
    await ask('GET', `/configurations/?access_token=${bearer}`, { headers: session })
    await ask('GET', '/configurations/', { headers: { Authorization: `${token.Authorization}x` } })
    await ask('GET', '/configurations/', { headers: { Cookie: `${session.Cookie}x` } })
    for (const headers of [session, token])
      assert.equal((await ask('POST', '/logout', { headers })).status, 200)
    await stop()
    assert.ok(stderr().includes('"event":"request"'))
    assert.ok(stderr().includes('"event":"logged_out"'))
    for (const secret of [...secrets, cookieValue, bearer, basic, 'wrong field', 'eyJ']) {
      assert.ok(!stderr().includes(secret), secret)
    }
  })

  it('may lose its reader, and the server continues', async (t) => {
    const { process: child, isUp, stop } = await startServer(t, '--access-log')
    child.stderr?.destroy()
    for (let i = 0; i < 5; i += 1) assert.equal(await isUp(), true)
    assert.equal(await stop(), 0)
  })

  it('may have no reader from the start', async (t) => {
    const [folder, port] = [await temporaryFolder(t), await freePort()]
    const flags = ['--host', '127.0.0.1', '--port', String(port), '--data', folder, '--access-log']
    const child = spawn('/bin/sh', ['-c', 'exec "$0" "$@" 2>&-', executable, ...flags], { stdio: 'ignore' })
    t.after(() => child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    const ask = createClient(`http://127.0.0.1:${port}`)
    const answers = async () => (await ask('GET', '/healthz')).status === 200
    await eventually('it answers', () => answers().catch(() => false))
    assert.equal(await answers(), true)
    child.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
  })
})

const hasIPv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)

describe('the address', () => {
  const rows = [
    [['--host', '127.0.0.1'], /^http:\/\/127\.0\.0\.1:[1-9]\d+$/],
    [['--host', '::1'], /^http:\/\/\[::1\]:[1-9]\d+$/],
    [['--host', '::'], /^http:\/\/localhost:[1-9]\d+$/],
    [['--host', '127.0.0.1', '--base-path', '/base/'], /^http:\/\/127\.0\.0\.1:[1-9]\d+\/base$/],
  ] as const
  for (const [flags, url] of rows) {
    it(`in the log is the actual one for ${flags.join(' ')} --port 0`, {
      skip: flags[1].includes('::') && !hasIPv6,
    }, async (t) => {
      const folder = await usedFolder(t)
      const child = spawn(executable, ['--port', '0', '--data', folder, ...flags], {
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      t.after(() => child.kill('SIGKILL'))
      // A start that takes long on a busy machine says so first.
      const said = await linesUntil(child.stderr, '"event":"listening"')
      const shown = JSON.parse(said.trimEnd().split('\n').at(-1) ?? '').url
      assert.match(shown, url)
      assert.equal((await fetch(`${shown}/healthz`)).status, 200)
    })
  }

  it('that is in use makes serve exit with 1, and disturbs no other server', async (t) => {
    const { url, isUp, process } = await startServer(t)
    const { port } = new URL(url)
    const folder = await temporaryFolder(t)
    const { code, stdout, stderr } = await runExecutable([
      '--host',
      '127.0.0.1',
      '--port',
      port,
      '--data',
      folder,
    ])
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(
      stderr,
      `connbook: Cannot listen on 127.0.0.1:${port}: another process (pid ${process.pid}, connbook) listens there; stop it, or choose another with --port\n`,
    )
    assert.equal(await isUp(), true)
  })
})

describe('a second process on the folder', () => {
  it('exits with 75, and does not disturb the first', async (t) => {
    const { folder, isUp, process, url, stop } = await startServer(t)
    const session = await logIn(url, admin)
    for (let i = 0; i < 2; i += 1) {
      const { code, stderr } = await runExecutable(['--port', '0', '--data', folder])
      assert.equal(code, 75)
      assert.equal(
        stderr,
        `connbook: Cannot use data folder "${folder}": another process has it (pid ${process.pid}, connbook); stop that one, or name another folder with --data\n`,
      )
    }
    assert.equal(await isUp(), true)
    const body = { name: 'web1', hostname: 'a.example', port: 22, username: 'ops' }
    assert.equal((await createClient(url, session)('POST', '/configurations/', { body })).status, 200)
    assert.equal(await stop('SIGKILL'), 'SIGKILL')
    const next = await startExecutable(t, ['--data', folder])
    assert.equal((await createClient(next.url, session)('GET', '/configurations/web1')).status, 200)
  })
})
