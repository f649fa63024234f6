import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chmod } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { makeCertificate, noOpenSsl, replaceFile, type TestCertificate } from '../support/certificate.ts'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { executable, type RunningServer, startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { hasTerminals, startAtTerminal } from '../support/pseudo-terminal.ts'
import { parseAnswers } from '../support/raw-http.ts'
import { admin, firstStartEnvironment, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { beginLogin, connectTls, exchange, fingerprintOf, shownFingerprint } from '../support/tls-client.ts'

async function startWith(t: TestContext, { certPath, keyPath }: TestCertificate): Promise<RunningServer> {
  const data = await usedFolder(t)
  const flags = ['--tls-cert', certPath, '--tls-key', keyPath, '--data', data]
  return startExecutable(t, flags)
}

interface LogLine {
  readonly event: string
  readonly [field: string]: unknown
}

function logOf(server: RunningServer): LogLine[] {
  const lines = server.stderr().split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as LogLine)
}

/** Sends SIGHUP, waits for the next line of this event, and gives it. */
async function hangUp(server: RunningServer, event: string): Promise<LogLine> {
  const found = () => logOf(server).filter((line) => line.event === event)
  const before = found().length
  server.process.kill('SIGHUP')
  await eventually(event, () => found().length > before)
  return found().at(-1) ?? assert.fail('just seen')
}

describe('SIGHUP', { skip: noOpenSsl }, () => {
  it('puts a new certificate in force, and a request in flight is answered on its connection', async (t) => {
    const [old, next] = [await makeCertificate(t), await makeCertificate(t)]
    const server = await startWith(t, old)
    const socket = await connectTls(t, server.url)
    const body = JSON.stringify(admin)
    await beginLogin(socket, body)
    await replaceFile(old.certPath, next.certPath)
    await replaceFile(old.keyPath, next.keyPath)

    const { level, subject, names, valid_to } = await hangUp(server, 'tls_reloaded')

    assert.deepEqual([level, subject, names], ['info', 'O=Test, CN=localhost', 'DNS:localhost'])
    assert.ok(Date.parse(String(valid_to)) > Date.now())
    assert.equal(await shownFingerprint(t, server.url), next.fingerprint)
    const [login] = parseAnswers(await exchange(socket, body))
    assert.deepEqual([login?.status, login?.body], [200, 'Authorized'])
    const [ready] = parseAnswers(await exchange(socket, 'GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n'))
    assert.equal(ready?.status, 200)
    assert.equal(fingerprintOf(socket), old.fingerprint)
    socket.destroy()
    assert.equal(await server.stop(), 0)
  })

  it('changes nothing while the new pair is not whole, and says why', async (t) => {
    const [old, next] = [await makeCertificate(t), await makeCertificate(t)]
    const server = await startWith(t, old)
    const isRefused = async (reason: RegExp) => {
      const line = await hangUp(server, 'tls_not_reloaded')
      assert.deepEqual([line.level, line.in_force], ['error', 'the certificate from before'])
      assert.match(String(line.reason), reason)
      assert.equal(await shownFingerprint(t, server.url), old.fingerprint)
    }
    await replaceFile(old.certPath, next.certPath)
    await isRefused(/^Cannot use --tls-key ".+": the key does not belong to .+; give the two/)
    await replaceFile(old.keyPath, next.certPath)
    await isRefused(/^Cannot use --tls-key ".+": it holds no private key in PEM form; name /)
    await replaceFile(old.keyPath, next.keyPath)
    await chmod(old.keyPath, 0o644)
    await isRefused(/^Cannot use --tls-key ".+": others can get at it \(.+\); run: chmod 600 '/)
    await chmod(old.keyPath, 0o600)
    await hangUp(server, 'tls_reloaded')
    assert.equal(await shownFingerprint(t, server.url), next.fingerprint)
    assert.equal(await server.stop(), 0)
  })

  it('may come many times in a row', async (t) => {
    const server = await startWith(t, await makeCertificate(t))
    for (let i = 0; i < 20; i += 1) server.process.kill('SIGHUP')
    await hangUp(server, 'tls_reloaded')
    assert.equal((await createClient(server.url)('GET', '/readyz')).status, 200)
    assert.equal(await server.stop(), 0)
  })

  it('tells of a certificate that ends soon, as the start does', async (t) => {
    const [soon, later] = [await makeCertificate(t, { days: 5 }), await makeCertificate(t)]
    const server = await startWith(t, soon)
    const warnings = () => logOf(server).filter(({ event }) => event.startsWith('certificate_'))
    await eventually('the start warns', () => warnings().length === 1)
    await hangUp(server, 'tls_reloaded')
    await eventually('the reload warns', () => warnings().length === 2)
    for (const { event, days } of warnings()) assert.deepEqual([event, days], ['certificate_expires', 4])
    await replaceFile(soon.certPath, later.certPath)
    await replaceFile(soon.keyPath, later.keyPath)
    await hangUp(server, 'tls_reloaded')
    assert.equal(await server.stop(), 0)
    assert.equal(warnings().length, 2)
  })

  it('during the start is obeyed behind it', async (t) => {
    const { certPath, keyPath } = await makeCertificate(t)
    const flags = ['--tls-cert', certPath, '--tls-key', keyPath]
    assert.deepEqual(await eventsAfterEarlyHangUp(t, flags), ['listening', 'first_start', 'tls_reloaded'])
  })
})

const noFaketime = missing('faketime')

it('serves with a certificate that has expired, and says so', {
  skip: noOpenSsl || noFaketime,
}, async (t) => {
  const server = await startWith(
    t,
    await makeCertificate(t, { days: 10, through: ['faketime', '30 days ago'] }),
  )
  await eventually('it warns', () => server.stderr().includes('"event":"certificate_expired"'))
  assert.equal((await createClient(server.url)('GET', '/readyz')).status, 200)
  assert.equal(await server.stop(), 0)
})

describe('SIGHUP without a certificate', () => {
  it('ends nothing and is logged', async (t) => {
    const server = await startExecutable(t, ['--data', await usedFolder(t)])
    const { level, reason } = await hangUp(server, 'nothing_to_reload')
    assert.deepEqual([level, reason], ['info', 'no --tls-cert'])
    assert.equal((await createClient(server.url)('GET', '/readyz')).status, 200)
    assert.equal(await server.stop(), 0)
  })

  it('during the start does not end it', async (t) => {
    assert.deepEqual(await eventsAfterEarlyHangUp(t), ['listening', 'first_start', 'nothing_to_reload'])
  })

  it('during the stop does not cut it off', async (t) => {
    const server = await startExecutable(t, ['--data', await usedFolder(t)])
    const body = JSON.stringify(admin)
    const { hostname, port } = new URL(server.url)
    const socket = connect({ host: hostname, port: Number(port) })
    t.after(() => void socket.destroy())
    const head = ['POST /login HTTP/1.1', 'Host: a', 'Expect: 100-continue', `Content-Length: ${body.length}`]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    await once(socket, 'data')
    const stopped = server.stop()
    await eventually('it is stopping', () => server.stderr().includes('"event":"stopping"'))
    await hangUp(server, 'nothing_to_reload')
    socket.write(body)
    const [answer] = parseAnswers(Buffer.concat(await socket.toArray()).toString())
    assert.equal(answer?.status, 200)
    assert.equal(await stopped, 0)
  })

  it('from a terminal that is still there ends nothing; the end of the terminal does', {
    skip: !hasTerminals,
  }, async (t) => {
    const data = await temporaryFolder(t)
    const flags = ['--host', '127.0.0.1', '--port', '0', '--data', data]
    const terminal = startAtTerminal(t, flags, firstStartEnvironment)
    await terminal.sees('listening')
    await terminal.sees('first_start')
    const [, url = '', pid] = /url=(\S+) .* pid=(\d+)/.exec(terminal.screen()) ?? []
    process.kill(Number(pid), 'SIGHUP')
    await terminal.sees('nothing_to_reload')
    const answers = () =>
      createClient(url)('GET', '/readyz').then(
        ({ status }) => status === 200,
        () => false,
      )
    assert.equal(await answers(), true)
    await terminal.close()
    await eventually('it has ended', async () => !(await answers()))
  })
})

/** Sends SIGHUP to the executable before it listens, and gives what it has logged once it serves. */
async function eventsAfterEarlyHangUp(t: TestContext, flags: readonly string[] = []): Promise<string[]> {
  const folder = await temporaryFolder(t)
  const always = ['--host', '127.0.0.1', '--port', '0', '--data', folder]
  const child = spawn(executable, [...always, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const hasKeys = () =>
    access(join(folder, dataFiles.keys)).then(
      () => true,
      () => false,
    )
  await eventually('it has the folder', hasKeys)
  child.kill('SIGHUP')
  await eventually('it has obeyed', () => /nothing_to_reload|tls_reloaded/.test(stderr))
  const events = stderr.split('\n').slice(0, -1)
  child.kill('SIGTERM')
  assert.deepEqual(await exited, [0, null])
  return events.map((line) => (JSON.parse(line) as LogLine).event)
}
