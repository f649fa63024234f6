import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

/** A server under measurement; it is stopped when it goes out of scope. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string
  /** CPU time of all its threads so far, in user and in kernel mode. */
  cpuSeconds(): number
  /** Memory in use, in MiB. */
  memory(): number
  /** Everything on standard error so far. */
  stderr(): string
  signal(signal: NodeJS.Signals): void
  /** Ends it without notice and waits until it is gone. */
  kill(): Promise<void>
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
  environment: NodeJS.ProcessEnv = {},
): Promise<ServerProcess> {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const killWithBench = () => child.kill('SIGKILL')
  process.once('exit', killWithBench)
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  void closed.then(
    () => process.off('exit', killWithBench),
    () => {},
  )
  let stderr = ''
  const ended = async () => {
    const [code, signal] = await closed
    return `${command} ended with ${code ?? signal}: ${stderr}`
  }

  const { promise: listening, resolve } = Promise.withResolvers<string>()
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    const url = /"event":"listening","url":"([^"]+)"/.exec(stderr)?.[1]
    if (url !== undefined) resolve(url)
  })
  const url = await Promise.race([listening, ended().then((message) => Promise.reject(new Error(message)))])

  return {
    url,
    cpuSeconds: () => cpuSeconds(child.pid),
    memory: () => residentKibibytes(child.pid) / 1024,
    stderr: () => stderr,
    signal: (signal) => void child.kill(signal),
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
    async [Symbol.asyncDispose]() {
      if (child.signalCode === 'SIGKILL') return
      child.kill('SIGTERM')
      const message = await ended()
      if (child.exitCode !== 0) throw new Error(message)
    },
  }
}

/** See proc_pid_stat(5): utime and stime are fields 14 and 15; the name in field 2 may hold spaces and brackets. */
function cpuSeconds(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fieldsFromThird = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fieldsFromThird[14 - 3]) + Number(fieldsFromThird[15 - 3])) / ticksPerSecond
}

/** See proc_pid_status(5). */
function residentKibibytes(pid: number | undefined): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
