import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import { getToken } from '../../support/api.ts'
import { eventually } from '../../support/eventually.ts'
import { executable, startExecutable } from '../../support/executable.ts'
import { type Ask, createClient, namesIn } from '../../support/http-client.ts'
import { createRandom } from '../../support/random.ts'
import { client, start, usedFolder } from '../../support/service.ts'
import { draft } from '../../support/store.ts'

const ROUNDS = 10
const CLIENTS = 8
const ADDED_BEFORE_SIGNAL = { min: 20, max: 300 }

const add = (ask: Ask, name: string) => ask('POST', '/configurations/', { body: draft(name) })

describe('a stop signal under load', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`${signal} ends with exit code 0, and exactly what was acknowledged is stored`, async (t) => {
      const random = createRandom()
      t.diagnostic(`seed ${random.seed}`)
      const folder = await usedFolder(t)
      const acknowledged: string[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        const server = await startExecutable(t, ['--data', folder])
        const ask = createClient(server.url, await getToken(server.url, client))
        const due = acknowledged.length + random.integer(ADDED_BEFORE_SIGNAL.min, ADDED_BEFORE_SIGNAL.max)
        const isDue = Promise.withResolvers<void>()
        const addUntilRefused = async (prefix: string) => {
          for (let i = 0; ; i += 1) {
            const name = `${prefix} ${i}`
            const answer = await add(ask, name).catch(() => undefined)
            if (answer === undefined) return
            assert.equal(answer.status, 200, answer.text)
            acknowledged.push(name)
            if (acknowledged.length >= due) isDue.resolve()
          }
        }
        const adding = Promise.all(
          Array.from({ length: CLIENTS }, (_, i) => addUntilRefused(`${round} ${i}`)),
        )
        await isDue.promise
        assert.equal(await server.stop(signal), 0)
        await adding
      }
      const server = await startExecutable(t, ['--data', folder])
      const ask = createClient(server.url, await getToken(server.url, client))
      const found = namesIn(await ask('GET', '/configurations/'))
      assert.deepEqual(found.toSorted(), acknowledged.toSorted())
    })
  }
})

describe('standard error that cannot be written', () => {
  it('does not stop the server when it is a pipe whose reader leaves after a line', async (t) => {
    const folder = await usedFolder(t)
    const child = runInShell(t, folder, 'set -o pipefail; "$0" "$@" 2>&1 | head -1')
    const closed = once(child, 'close')
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const { url, pid } = JSON.parse(line.toString()) as { url: string; pid: number }
    const ask = createClient(url, await getToken(url, client))
    for (let i = 0; i < 10; i += 1) assert.equal((await add(ask, `n ${i}`)).status, 200)
    process.kill(pid, 'SIGPIPE')
    assert.equal((await add(ask, 'after SIGPIPE')).status, 200)
    process.kill(pid, 'SIGTERM')
    assert.deepEqual(await closed, [0, null])
    await assertRecords(t, folder, 11)
  })

  for (const redirection of ['2>/dev/full', '0<&- 1>&- 2>&-']) {
    it(`does not stop the server with ${redirection}, and the log goes nowhere else`, async (t) => {
      const folder = await usedFolder(t)
      const first = await start(t, { folder, environment: {} })
      const { port } = new URL(first.url)
      await first.stop()
      const child = runInShell(t, folder, `exec "$0" "$@" ${redirection}`, port)
      const exited = once(child, 'exit')
      const url = `http://127.0.0.1:${port}`
      const ask = createClient(url, await firstToken(url))
      for (let i = 0; i < 10; i += 1) assert.equal((await add(ask, `n ${i}`)).status, 200)
      child.kill('SIGPIPE')
      assert.equal((await ask('GET', '/configurations/')).status, 200)
      child.kill('SIGTERM')
      assert.deepEqual(await exited, [0, null])
      await assertRecords(t, folder, 10)
    })
  }
})

/** Starts the executable by a bash command line, with a log line for each request. */
function runInShell(t: TestContext, folder: string, script: string, port = '0') {
  const flags = ['--host', '127.0.0.1', '--port', port, '--data', folder, '--access-log']
  const child = spawn('/bin/bash', ['--norc', '-c', script, executable, ...flags], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  // The shell and its children.
  t.after(() => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  })
  return child
}

/** A token from a server that cannot report when it listens. */
async function firstToken(url: string): Promise<{ Authorization: string }> {
  let headers: { Authorization: string } | undefined
  await eventually('it listens', async () => {
    headers = await getToken(url, client).catch(() => undefined)
    return headers !== undefined
  })
  return headers ?? assert.fail('just got')
}

async function assertRecords(t: TestContext, folder: string, count: number) {
  const server = await startExecutable(t, ['--data', folder])
  const ask = createClient(server.url, await getToken(server.url, client))
  assert.equal(namesIn(await ask('GET', '/configurations/')).length, count)
  assert.ok(!server.stderr().includes('torn_tail_set_aside'))
}
