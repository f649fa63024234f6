import '../../support/node-version.ts'
import '../../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { pause } from '../../../src/client/pause.ts'
import { FollowedCommand, startShell } from '../../../src/commands/followed-command.ts'
import { eventually } from '../../support/eventually.ts'
import { executable, startExecutable } from '../../support/executable.ts'
import { freePort } from '../../support/free-port.ts'
import { createClient } from '../../support/http-client.ts'
import { mountSmallDisk, noNamespaces } from '../../support/namespace.ts'
import { client, usedFolder } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { web1 } from './client-home.ts'

const KIB = 1024
/** Until a kill, while it writes. */
const ROUNDS = 5

/** An own server, whose port stays the same when it is started again. */
async function serve(t: TestContext) {
  const folder = await usedFolder(t)
  const port = await freePort()
  const startIt = () => startExecutable(t, ['--data', folder], { port, isTimed: true })
  const first = await startIt()
  const answer = await fetch(`${first.url}/v1/auth/token`, { method: 'POST', body: JSON.stringify(client) })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  const ask = createClient(first.url, { Authorization: `Bearer ${token}` })
  const add = async (name: string) =>
    assert.equal((await ask('POST', '/configurations/', { body: { ...web1, name } })).status, 200)
  return { folder, token, first, startIt, ask, add, url: first.url }
}

/** `connbook export --follow` as a process. */
function follow(
  t: TestContext,
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
  through: readonly string[] = [],
) {
  const [program = executable, ...rest] = [...through, executable]
  const args = [...rest, 'export', '--format', 'jsonl', '--follow', ...words]
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => void child.kill('SIGKILL'))
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return { child, exited: once(child, 'exit'), stdout: () => stdout, stderr: () => stderr }
}

const has = (path: string, text: string) =>
  eventually(`${path} has ${text}`, async () => (await readFile(path, 'utf8').catch(() => '')).includes(text))

/** Ends with a signal and without one's own exit code if it was killed. */
async function endOf(
  { child, exited }: { child: ChildProcess; exited: Promise<unknown[]> },
  signal: NodeJS.Signals,
) {
  child.kill(signal)
  return exited
}

/** Processes with a word in their command line. */
function processesWith(word: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word)
    } catch {
      return false
    }
  })
}

describe('connbook export --follow as a process', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    it(`ends with 0 at ${signal}, also while nothing answers`, async (t) => {
      const server = await serve(t)
      const file = join(await temporaryFolder(t), 'out')
      const words = ['--output', file, '--server', server.url]
      for (const isUp of [true, false]) {
        if (!isUp) await server.first.stop()
        const followed = follow(t, words, { CONNBOOK_TOKEN: server.token })
        await eventually('it says where it is', () => followed.stderr() !== '')
        assert.deepEqual(await endOf(followed, signal), [0, null])
      }
    })

  it('goes on after the server was killed, and finds what changed meanwhile', async (t) => {
    const server = await serve(t)
    const file = join(await temporaryFolder(t), 'out')
    const environments = [
      { words: ['--server', server.url], environment: { CONNBOOK_TOKEN: server.token } },
      { words: ['--data', server.folder], environment: {} },
    ]
    const all = environments.map(({ words, environment }, i) =>
      follow(t, ['--output', `${file}${i}`, ...words], environment),
    )
    await server.add('before')
    for (const i of all.keys()) await has(`${file}${i}`, '"before"')
    await server.first.stop('SIGKILL')
    const again = await server.startIt()
    await server.add('after')
    for (const i of all.keys()) await has(`${file}${i}`, '"after"')
    await again.stop()
    await server.startIt()
    await server.add('again')
    for (const [i, followed] of all.entries()) {
      await has(`${file}${i}`, '"again"')
      assert.deepEqual(await endOf(followed, 'SIGTERM'), [0, null])
      const lines = followed.stderr().split('\n').slice(0, -1)
      assert.ok(lines.length <= 5, followed.stderr())
      assert.match(lines[1] ?? '', /; it is tried again$/)
    }
  })

  it('leaves the old file or the new one when it is killed, and runs the command at the next start', async (t) => {
    const server = await serve(t)
    const folder = await temporaryFolder(t)
    const file = join(folder, 'out')
    const runs = join(folder, 'runs')
    const words = ['--output', file, '--data', server.folder, '--run', `echo >> ${runs}`]
    const rows = Array.from({ length: 5_000 }, (_, i) => `h${i},h${i}.example,22,u\n`).join('')
    const body = `name,hostname,port,username\n${rows}`
    assert.equal((await server.ask('POST', '/v1/import?format=csv', { body })).status, 200)
    for (let round = 0; round < ROUNDS; round++) {
      const followed = follow(t, words, {})
      if (round > 0) await server.add(`new${round}`)
      // At some moment of the write, or beside it.
      await eventually('something was begun', async () => (await readdir(folder)).length > 0)
      await endOf(followed, 'SIGKILL')
      const text = await readFile(file, 'utf8').catch(() => '')
      if (text !== '') assert.ok(text.split('\n').length > 5_000 && text.endsWith('}\n'))
    }
    await writeFile(join(folder, '.out.0123456789ab.tmp'), 'left by one that was killed')
    const before = (await readFile(runs, 'utf8').catch(() => '')).length
    const last = follow(t, words, {})
    await eventually(
      'the command has run',
      async () => (await readFile(runs, 'utf8').catch(() => '')).length > before,
    )
    assert.deepEqual(await endOf(last, 'SIGTERM'), [0, null])
    assert.deepEqual((await readdir(folder)).sort(), ['out', 'runs'])
    await has(file, `"new${ROUNDS - 1}"`)
  })

  it('gives the command no credential and nothing of a record', async (t) => {
    const server = await serve(t)
    const folder = await temporaryFolder(t)
    const environment = {
      CONNBOOK_LOGIN_CLIENT_ID: client.client_id,
      CONNBOOK_LOGIN_CLIENT_SECRET: client.client_secret,
      CONNBOOK_ADMIN_PASSWORD: 'a secret',
      OTHER: 'stays',
    }
    await server.add('$(touch touched)')
    const print = `tr '\\0' '\\n' < /proc/$$/environ > ${folder}/variables; touch ${folder}/done`
    const words = ['--output', join(folder, 'out'), '--server', server.url, '--run', print]
    const followed = follow(t, words, environment)
    await eventually('it has run', async () => (await readdir(folder)).includes('done'))
    assert.deepEqual(await endOf(followed, 'SIGTERM'), [0, null])
    const variables = await readFile(join(folder, 'variables'), 'utf8')
    assert.match(variables, /^OTHER=stays$/m)
    for (const hidden of [client.client_secret, 'a secret', 'touch', 'web1', '192.0.2.10'])
      assert.ok(!variables.includes(hidden), hidden)
  })

  it('says how the command failed, and ends it with its children at the stop', async (t) => {
    const server = await serve(t)
    const folder = await temporaryFolder(t)
    const [file, failed] = [join(folder, 'out'), join(folder, 'failed')]
    const word = `${8_000_000 + process.pid}`
    const run = `test -e ${failed} || { touch ${failed}; exit 3; }; sleep ${word} & sleep ${word}`
    const followed = follow(t, ['--output', file, '--data', server.folder, '--run', run], {})
    await eventually('it has failed', () =>
      followed.stderr().includes('ended with exit code 3; it runs again'),
    )
    await server.add('next')
    await eventually('it hangs', () => processesWith(word).length === 2)
    assert.deepEqual(await endOf(followed, 'SIGTERM'), [0, null])
    await eventually('its children have ended', () => processesWith(word).length === 0)
  })

  it('ends a command that hangs, with its children', async () => {
    const word = `${9_000_000 + process.pid}`
    const said: string[] = []
    const isBegun = Promise.withResolvers<void>()
    const command = new FollowedCommand(
      () => startShell(`trap '' TERM; sleep ${word} & sleep ${word}`, process.env),
      (text) => void said.push(text),
      // The wait is over once both are there.
      async (_, signal) => {
        await eventually('both are there', () => processesWith(word).length === 2)
        isBegun.resolve()
        await pause(0, signal)
      },
    )
    command.fileIsFresh(true)
    await isBegun.promise
    await eventually('they have ended', () => processesWith(word).length === 0 && said.length > 0)
    assert.match(said[0] ?? '', /^The command of --run took more than 60 s, and was ended with its children/)
  })

  it('says that a command cannot be started', async () => {
    const { ended } = startShell('x'.repeat(256 * KIB), process.env)
    assert.match((await ended) ?? '', /^could not be started \(E2BIG\)$/)
  })

  it('says that the disk is full, and writes when there is room', { skip: noNamespaces }, async (t) => {
    const server = await serve(t)
    const place = await temporaryFolder(t)
    const disk = await mountSmallDisk(t, place, 16 * KIB)
    const words = ['--output', join(place, 'out'), '--server', server.url]
    const followed = follow(t, words, { CONNBOOK_TOKEN: server.token }, disk.through)
    await server.add('first')
    const file = join(disk.outside, 'out')
    await has(file, '"first"')
    const rows = Array.from({ length: 400 }, (_, i) => `h${i},h${i}.example,22,u\n`).join('')
    const body = `name,hostname,port,username\n${rows}`
    assert.equal((await server.ask('POST', '/v1/import?format=csv', { body })).status, 200)
    await eventually('it is said', () => followed.stderr().includes('ENOSPC'))
    assert.equal((await readFile(file, 'utf8')).split('\n').length, 2)
    await disk.resize(1024 * KIB)
    await has(file, '"h399"')
    assert.deepEqual(await readdir(disk.outside), ['out'])
    followed.child.kill('SIGTERM')
    await followed.exited
    assert.equal(followed.stderr().match(/ENOSPC/g)?.length, 1)
    assert.match(followed.stderr(), /is fresh again\n$/)
  })

  it('is killed by no limit on the size of a file', async (t) => {
    const server = await serve(t)
    const file = join(await temporaryFolder(t), 'out')
    const through = ['/bin/sh', '-c', 'ulimit -f 1; exec "$@"', 'sh']
    await server.add('x'.repeat(200))
    for (let i = 0; i < 8; i++) await server.add(`${i}`.repeat(200))
    const followed = follow(t, ['--output', file, '--data', server.folder], {}, through)
    await eventually('it is said', () => followed.stderr().includes('EFBIG'))
    assert.deepEqual(await endOf(followed, 'SIGTERM'), [0, null])
  })

  it('writes again when the folder of the file, or that of the server, comes back', async (t) => {
    const server = await serve(t)
    const folder = join(await temporaryFolder(t), 'of the file')
    await mkdir(folder)
    const file = join(folder, 'out')
    const followed = follow(t, ['--output', file, '--data', server.folder], {})
    await server.add('one')
    await has(file, '"one"')
    // Before that is said, the folder would be missing at the first write: then nothing is fresh "again".
    await eventually('it is said', () => followed.stderr().includes('kept fresh'))
    await rename(folder, `${folder} away`)
    await eventually('it is said', () => followed.stderr().includes('ENOENT'))
    await mkdir(folder)
    await has(file, '"one"')
    await server.first.stop()
    await rename(server.folder, `${server.folder} away`)
    await eventually('it is said', () => /tried again.*fresh again.*tried again/s.test(followed.stderr()))
    await rename(`${server.folder} away`, server.folder)
    await server.startIt()
    await server.add('two')
    await has(file, '"two"')
    assert.deepEqual(await endOf(followed, 'SIGTERM'), [0, null])
  })

  it('ends with 5 when its account has gone', async (t) => {
    const server = await serve(t)
    const file = join(await temporaryFolder(t), 'out')
    const followed = follow(t, ['--output', file, '--server', server.url], { CONNBOOK_TOKEN: server.token })
    await server.add('one')
    await has(file, '"one"')
    const remove = spawn(executable, ['client', 'remove', client.client_id, '--data', server.folder])
    assert.deepEqual(await once(remove, 'exit'), [0, null])
    assert.deepEqual(await followed.exited, [5, null])
  })
})
