import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from './eventually.ts'
import { type Lifetime, temporaryFolder } from './temporary-folder.ts'

/**
 * The environment for a server that is to be traced: strace counts the calls of each thread by itself, and with one
 * thread in the pool that thread makes every call for a file, the locks excepted.
 */
export const oneFileThread = { UV_THREADPOOL_SIZE: '1' }

/** What to do to a system call. */
export interface Injection {
  /** Names of system calls, with commas between them. */
  readonly calls: string
  /** As strace takes it: `signal=KILL`, `error=EIO`, `delay_enter=300000` (µs). */
  readonly fault: string
  /** Which of the calls: `3`, or `3+` for all from the third on; without it, all. */
  readonly when?: string
  /** Only calls for this path, or for a file open under it, count. */
  readonly path?: string
}

/**
 * The words to run a command under strace, for the `through` of `startExecutable`; the tracer is not its parent, so
 * signals and exit codes go to and come from the command itself.
 *
 * @param log Path of a new file for what it sees.
 */
export function underStrace(injection: Injection, log = '/dev/null'): string[] {
  return ['strace', '-D', '-f', '-qq', '-o', log, ...wordsFor([injection])]
}

/** A tracer attached to a running process. */
export interface Tracer {
  /**
   * The system calls so far of the threads that work in the folder, a line each as strace writes it, with the paths of
   * descriptors. Other threads' are not the product's: glibc opens a file of the system's for a new arena of memory.
   */
  calls(): Promise<string[]>
  /** Lets the process go on by itself. */
  detach(): Promise<void>
  /** The same at once, even while strace delays the process. */
  kill(): Promise<void>
}

/**
 * Puts strace on a running process and resolves once it is in force; it is gone when the test ends.
 *
 * @param folder What the process works in.
 * @param seen Names of system calls to log besides those that are injected.
 */
export async function attachStrace(
  t: Lifetime,
  pid: number | undefined,
  {
    injections,
    folder,
    seen = [],
  }: { injections: readonly Injection[]; folder: string; seen?: readonly string[] },
): Promise<Tracer> {
  const log = join(await temporaryFolder(t), 'strace')
  const words = ['-f', '-y', '-o', log, ...wordsFor(injections, seen), '-p', String(pid)]
  const strace = spawn('strace', words, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(strace, 'exit')
  t.after(() => void strace.kill('SIGKILL'))
  let said = ''
  strace.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  await eventually('strace is attached', () => said.includes(' attached'))
  const end = async (signal: NodeJS.Signals) => {
    strace.kill(signal)
    await exited
  }
  return {
    async calls() {
      const lines = (await readFile(log, 'utf8')).split('\n').slice(0, -1)
      const threads = new Set(lines.filter((line) => line.includes(folder)).map(threadOf))
      return lines.filter((line) => threads.has(threadOf(line)))
    },
    detach: () => end('SIGINT'),
    kill: () => end('SIGKILL'),
  }
}

function threadOf(line: string): string | undefined {
  return /^\d+/.exec(line)?.[0]
}

function wordsFor(injections: readonly Injection[], seen: readonly string[] = []): string[] {
  const calls = [...injections.map((injection) => injection.calls), ...seen].join(',')
  const paths = injections.flatMap(({ path }) => (path === undefined ? [] : ['-P', path]))
  const rules = injections.flatMap(({ calls, fault, when }) => {
    return ['-e', `inject=${calls}:${fault}${when === undefined ? '' : `:when=${when}`}`]
  })
  return ['-e', `trace=${calls}`, ...rules, ...paths]
}
