import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { staleBuild } from './build-age.ts'
import { refuseToRun } from './node-version.ts'
import type { Lifetime } from './temporary-folder.ts'
import { expectDescribed } from './under-test.ts'

const root = join(import.meta.dirname, '../..')
refuseToRun(staleBuild(root))

/**
 * The output of `npm run build`; `npm test` builds it before the tests. TESTED_EXECUTABLE names another file to test, such
 * as dist/connbook.cjs.
 */
export const executable = join(root, process.env.TESTED_EXECUTABLE ?? 'dist/connbook')

/** A command that turns out to be a server would never end. */
const RUN_TIMEOUT_MS = 300_000

/** A server that runs as its own process. */
export interface RunningServer {
  readonly url: string
  readonly process: ChildProcess
  /** Everything on standard error so far. */
  readonly stderr: () => string
  /** Sends a signal and gives the exit code, or the signal that ended the process. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>
}

/**
 * Starts the executable and waits until it listens; it is killed when the test or the suite ends.
 *
 * @param port A free one when not given.
 * @param place Flags that say where to listen; on the loopback interface when not given.
 * @param through A command that runs it, `prlimit` for example, with that command's arguments.
 * @param program What is started instead of the executable, with its first arguments.
 * @param isTimed Whether answers are not compared with the OpenAPI document, because that takes time.
 */
export async function startExecutable(
  t: Lifetime,
  args: readonly string[],
  {
    cwd,
    environment = {},
    through = [],
    port = 0,
    place = ['--host', '127.0.0.1', '--port', String(port)],
    program = [executable],
    isTimed = false,
  }: {
    cwd?: string
    environment?: NodeJS.ProcessEnv
    through?: readonly string[]
    port?: number
    place?: readonly string[]
    program?: readonly string[]
    isTimed?: boolean
  } = {},
): Promise<RunningServer> {
  const [command = executable, ...rest] = [...through, ...program, ...place, ...args]
  const child = spawn(command, rest, {
    cwd,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  let stderr = ''
  const { promise: listening, resolve } = Promise.withResolvers<string>()
  let isListening = false
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    const url = isListening ? undefined : /"event":"listening","url":"([^"]+)"/.exec(stderr)?.[1]
    if (url === undefined) return
    isListening = true
    resolve(url)
  })
  const url = await Promise.race([listening, exited.then(([code]) => assert.fail(`exit ${code}: ${stderr}`))])
  if (!isTimed) child.once('exit', expectDescribed(url))
  return {
    url,
    process: child,
    stderr: () => stderr,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      const [code, by] = await exited
      return code ?? by ?? assert.fail('neither code nor signal')
    },
  }
}

/** For `through`: a standard output on a full device. */
export const toFullDevice = ['/bin/sh', '-c', 'exec "$0" "$@" > /dev/full'] as const

/** For `through`: a standard output without a reader. */
export const toNobody = [
  '/bin/bash',
  '--norc',
  '-c',
  'exec 3> >(exit); wait $!; exec "$0" "$@" >&3 3>&-',
] as const

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs the executable to its end.
 *
 * @param through As in `startExecutable`.
 */
export async function runExecutable(
  args: readonly string[],
  {
    input = '',
    cwd,
    environment = {},
    through = [],
  }: {
    input?: string | Uint8Array
    cwd?: string
    environment?: NodeJS.ProcessEnv
    through?: readonly string[]
  } = {},
): Promise<Finished> {
  const [command = executable, ...rest] = [...through, executable, ...args]
  const child = spawn(command, rest, {
    cwd,
    env: { PATH: process.env.PATH, ...environment },
    timeout: RUN_TIMEOUT_MS,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout: withOwnName(stdout), stderr: withOwnName(stderr) }
}

/** connbook.cjs prints the words that start it; the tests expect those of the executable. */
function withOwnName(text: string): string {
  return executable.endsWith('.cjs') ? text.replaceAll(/\/\S*node \/\S*connbook\.cjs/g, 'connbook') : text
}
