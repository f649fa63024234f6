import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { LOG_BYTES_WAITING_MAX } from '../../src/service/server-log.ts'
import { eventually } from '../support/eventually.ts'
import { executable } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Nearly the longest path, so that a few hundred lines exceed what the log buffers. */
export const LONG_PATH = `/${'x'.repeat(8_000)}`
/** More than a Linux pipe (64 KiB) and the buffer of the log hold together. */
export const MANY = Math.ceil((LOG_BYTES_WAITING_MAX * 1.5) / LONG_PATH.length)
const CLIENTS = 4
/**
 * Starts the executable by a command line of bash, with a line in its log for each request.
 *
 * @param script Runs `"$0" "$@"`, the executable with its arguments.
 */
export async function startBehind(t: TestContext, script: string, ...flags: string[]) {
  const port = await freePort()
  const folder = await usedFolder(t)
  const args = ['--host', '127.0.0.1', '--port', String(port), '--data', folder, '--access-log', ...flags]
  const child = spawn('/bin/bash', ['--norc', '-c', script, executable, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => void child.kill('SIGKILL'))
  child.stderr.pause()
  const exited = once(child, 'exit')
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })
  t.after(() => agent.destroy())
  const ask = async (path: string, id: string): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const headers = { 'X-Request-Id': id }
    request({ host: '127.0.0.1', port, path, agent, headers }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
    })
      .on('error', reject)
      .end()
    return promise
  }
  await eventually('it is ready', () =>
    ask('/readyz', 'first').then(
      (status) => status === 200,
      () => false,
    ),
  )
  return {
    url: `http://127.0.0.1:${port}`,
    child,
    exited,
    ask,
    async askMany() {
      const statuses = await Promise.all(Array.from({ length: MANY }, (_, i) => ask(LONG_PATH, `r${i}`)))
      assert.deepEqual(new Set(statuses), new Set([403]))
    },
    async stop() {
      child.kill('SIGTERM')
      assert.deepEqual(await exited, [0, null])
    },
  }
}

/** The same with a pipe for its log that nobody reads. */
export async function startUnread(t: TestContext) {
  const pipe = join(await temporaryFolder(t), 'pipe')
  execFileSync('mkfifo', [pipe])
  const reader = await open(pipe, 'r+')
  t.after(() => reader.close())
  return startBehind(t, `exec "$0" "$@" 2> ${pipe}`)
}
