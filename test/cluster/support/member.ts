import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { canConnect } from '../../proxy/can-connect.ts'
import { type ClientTls, sendRequest } from './etcd-client.ts'

/** Between two looks at whether a member answers. */
const LOOK_MS = 20
/** Long, because a machine may be busy. */
const START_MS_MAX = 60_000
const OUTPUT_CHARACTERS = 20_000

/**
 * When a start is over: once the member takes changes; once it answers, with an alarm for example; or once it accepts
 * connections, which is all that it does when it starts without a quorum.
 */
export type Readiness = 'healthy' | 'answering' | 'listening'

/** A member of a cluster, as its own process. */
export interface EtcdMember {
  readonly name: string
  /** Its URL for clients. */
  readonly url: string
  readonly peerUrl: string
  readonly dataFolder: string
  /** Arguments that say who it is, and of which cluster; for etcd as for the tool that restores snapshots. */
  readonly identity: readonly string[]
  readonly pid: number | undefined
  /** What it has logged, errors above all; the end of it if that is long. */
  readonly output: () => string
  signal(signal: NodeJS.Signals): void
  /** Stops it in the middle: it keeps its connections and answers nothing. */
  freeze(): void
  thaw(): void
  /** Ends it without notice, and waits until it is gone. */
  kill(): Promise<void>
  /** Starts it again on its data. It ends with the test. */
  start(until?: Readiness): Promise<void>
}

export interface MemberPlan {
  readonly name: string
  readonly url: string
  readonly peerUrl: string
  readonly dataFolder: string
  readonly identity: readonly string[]
  /** All of it, with its arguments. */
  readonly command: readonly [string, ...string[]]
  readonly tls: ClientTls | undefined
}

// Not to outlive the tests, however those end.
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Prepares a member; `start` starts it. */
export function createMember({ command, tls, ...place }: MemberPlan): EtcdMember {
  const { name, url } = place
  let child: ChildProcess | undefined
  let ended = Promise.resolve()
  let output = ''

  function run() {
    const [program, ...args] = command
    const started = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    output = ''
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_CHARACTERS)
    })
    running.add(started)
    child = started
    ended = once(started, 'close').then(
      () => {},
      (error: Error) => {
        output += error.message
      },
    )
    void ended.then(() => running.delete(started))
  }

  async function untilReady(until: Readiness) {
    const deadline = performance.now() + START_MS_MAX
    let hasEnded = false
    void ended.then(() => {
      hasEnded = true
    })
    while (!(await isReady(url, tls, until))) {
      if (hasEnded) throw new Error(`${name} has ended: ${output}`)
      if (performance.now() > deadline) throw new Error(`${name} is not ${until} at ${url}: ${output}`)
      await Promise.race([ended, pause(LOOK_MS)])
    }
  }

  return {
    ...place,
    get pid() {
      return child?.pid
    },
    output: () => output,
    signal: (signal) => void child?.kill(signal),
    freeze() {
      child?.kill('SIGSTOP')
      // The signal does not stop it at once.
      while (child !== undefined && isRunning(child)) {}
    },
    thaw: () => void child?.kill('SIGCONT'),
    async kill() {
      child?.kill('SIGKILL')
      await ended
    },
    async start(until = 'healthy') {
      run()
      await untilReady(until)
    },
  }
}

async function isReady(url: string, tls: ClientTls | undefined, until: Readiness): Promise<boolean> {
  if (until === 'listening') return canConnect(Number(new URL(url).port))
  const path = until === 'healthy' ? '/health' : '/version'
  const answer = await sendRequest(url + path, tls ? { tls } : {}).catch(() => undefined)
  if (answer === undefined) return false
  return until === 'answering' || answer.text.includes('"health":"true"')
}

/** Whether a process is there and not stopped (proc_pid_stat(5)). */
function isRunning({ pid, exitCode, signalCode }: ChildProcess): boolean {
  if (exitCode !== null || signalCode !== null) return false
  const [, state] = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? []
  return state !== 'T' && state !== 'Z'
}
