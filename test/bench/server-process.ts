import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '../support/http-client.ts'
import { memoryOf, residentMebibytesOf, type WithMemory } from './memory.ts'

/** Between two looks at whether a server answers: so exact is the time at which it did. */
const LOOK_MS = 2
const ANSWER_DEADLINE_MS = 60_000
/** For the reason why a server has ended; it may log a line for each request. */
const STDERR_CHARACTERS_KEPT = 4_096

/** A server under measurement; it is stopped when it goes out of scope. */
export interface ServerProcess extends AsyncDisposable, WithMemory {
  readonly url: string
  /** CPU time of all its threads so far, in user and in kernel mode. */
  cpuSeconds(): number
  /** Asks for a path again and again, each time on a new connection, until the answer is 200. */
  untilAnswered(path: string): Promise<void>
  signal(signal: NodeJS.Signals): void
  /** Ends it without notice and waits until it is gone. */
  kill(): Promise<void>
}

export interface ServerOptions {
  readonly environment?: NodeJS.ProcessEnv
  /** Somebody else's program: it need not end with 0 at SIGTERM, and is killed. */
  readonly isForeign?: boolean
}

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/**
 * Starts a server and waits until it says on standard error, as connbook does, where it listens.
 *
 * @throws {Error} with what it wrote, when it ends before that; and on disposal, when SIGTERM does not end it with 0.
 */
export async function startServer(
  command: string,
  args: readonly string[],
  options: ServerOptions = {},
): Promise<ServerProcess> {
  const { child, ended, asServer } = run(command, args, options)
  const { promise: listening, resolve } = Promise.withResolvers<string>()
  let stderr = ''
  const lookForUrl = (text: string) => {
    stderr += text
    const url = /"event":"listening","url":"([^"]+)"/.exec(stderr)?.[1]
    if (url === undefined) return
    child.stderr.off('data', lookForUrl)
    resolve(url)
  }
  child.stderr.on('data', lookForUrl)
  return asServer(await Promise.race([listening, ended]))
}

/** Starts a server on a port that was free a moment ago, and does not wait until it listens. */
export async function startServerOnFreePort(
  command: string,
  argsFor: (port: number) => Promise<readonly string[]> | readonly string[],
  options: ServerOptions = {},
): Promise<ServerProcess> {
  const port = await findFreePort()
  const args = await argsFor(port)
  return run(command, args, options).asServer(`http://127.0.0.1:${port}`)
}

/** For servers that cannot choose one by themselves. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('This machine gives no free port')
  return address.port
}

async function isAnswered(url: string, path: string): Promise<boolean> {
  try {
    return (await createClient(url)('GET', path)).status === 200
  } catch {
    return false
  }
}

function run(
  command: string,
  args: readonly string[],
  { environment = {}, isForeign = false }: ServerOptions,
) {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const killWithBench = () => child.kill('SIGKILL')
  process.once('exit', killWithBench)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARACTERS_KEPT)
  })
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  const reason = closed.then(([code, signal]) => `${command} ended with ${code ?? signal}: ${stderr}`)
  const ended = reason.then((message): never => {
    throw new Error(message)
  })
  ended.catch(() => {})
  void closed.then(
    () => process.off('exit', killWithBench),
    () => {},
  )
  const asServer = (url: string): ServerProcess => ({
    url,
    cpuSeconds: () => cpuSeconds(child.pid),
    async untilAnswered(path) {
      const deadline = performance.now() + ANSWER_DEADLINE_MS
      while (!(await Promise.race([isAnswered(url, path), ended]))) {
        if (performance.now() > deadline)
          throw new Error(`${command} does not answer ${path} in ${ANSWER_DEADLINE_MS} ms`)
        await pause(LOOK_MS)
      }
    },
    memory: () => memoryOf(child.pid),
    residentMebibytes: () => residentMebibytesOf(child.pid),
    signal: (signal) => void child.kill(signal),
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
    async [Symbol.asyncDispose]() {
      if (child.signalCode === 'SIGKILL') return
      child.kill(isForeign ? 'SIGKILL' : 'SIGTERM')
      const message = await reason
      if (!isForeign && child.exitCode !== 0) throw new Error(message)
    },
  })
  return { child, ended, asServer }
}

/** See proc_pid_stat(5): utime and stime are fields 14 and 15; the name in field 2 may hold spaces and brackets. */
function cpuSeconds(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fieldsFromThird = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fieldsFromThird[14 - 3]) + Number(fieldsFromThird[15 - 3])) / ticksPerSecond
}
