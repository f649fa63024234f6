import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { pause } from '../client/pause.ts'
import { systemCode } from '../errors.ts'
import { inTurn } from '../system-account.ts'
import { childEnvironment } from './child-environment.ts'

/** A command that takes longer is ended. */
export const RUN_MS_MAX = 60_000
/** How long a command has to end when this process is asked to. */
const STOP_MS = 2_000

/** A command of the shell that is under way. */
export interface ShellRun {
  /** Resolves to undefined after exit code 0; otherwise completes "The command of --run …". */
  readonly ended: Promise<string | undefined>
  /** Sends a signal to the command and to its children. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void
}

/** Runs a command of the shell after each write of a file: one at a time, and once more after it if it was due meanwhile. */
export class FollowedCommand {
  readonly #start: () => ShellRun
  readonly #say: (text: string) => void
  readonly #pause: typeof pause
  #present: ShellRun | undefined
  #isDue = false
  #isStopped = false
  /** Whether it has to run though nothing new was written: before the first time, and after a failure. */
  #isOwed = true

  /** @param say Is given what failed. @param wait Waits RUN_MS_MAX and STOP_MS. */
  constructor(start: () => ShellRun, say: (text: string) => void, wait = pause) {
    this.#start = start
    this.#say = say
    this.#pause = wait
  }

  /** Call it when the file is as it should be. @param isWritten Whether it was written anew. */
  fileIsFresh(isWritten: boolean): void {
    if (!isWritten && !this.#isOwed) return
    this.#isOwed = false
    this.#isDue = true
    if (this.#present === undefined) void this.#runAll()
  }

  /** Ends what is under way, and starts nothing more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const present = this.#present
    if (present === undefined) return
    present.kill('SIGTERM')
    await this.#endWithin(present, STOP_MS)
    present.kill('SIGKILL')
  }

  async #runAll() {
    while (this.#isDue && !this.#isStopped) {
      this.#isDue = false
      const failure = await this.#runOnce()
      if (failure === undefined || this.#isStopped) continue
      this.#isOwed = true
      this.#say(`The command of --run ${failure}; it runs again after the next change`)
    }
  }

  async #runOnce(): Promise<string | undefined> {
    const present = this.#start()
    this.#present = present
    const isOver = await this.#endWithin(present, RUN_MS_MAX)
    if (!isOver) present.kill('SIGKILL')
    const failure = await present.ended
    this.#present = undefined
    return isOver ? failure : `took more than ${RUN_MS_MAX / 1000} s, and was ended with its children`
  }

  /** Whether a command ends in time. */
  async #endWithin(run: ShellRun, ms: number): Promise<boolean> {
    const controller = new AbortController()
    const late = this.#pause(ms, controller.signal).then(() => false)
    const isOver = await Promise.race([run.ended.then(() => true), late])
    controller.abort()
    return isOver
  }
}

/**
 * Starts a command of the shell, without the variables that hold credentials. It writes where this process does.
 *
 * @param environment The environment of this process.
 */
export function startShell(command: string, environment: NodeJS.ProcessEnv): ShellRun {
  const { spawn } = process.getBuiltinModule('node:child_process')
  const env = childEnvironment(environment)
  const isGroup = process.platform !== 'win32'
  let child: ChildProcess | undefined
  const starting = inTurn(() => {
    // A group of its own, by which its children can be ended, too.
    const made = spawn(command, {
      shell: true,
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: isGroup,
    })
    child = made
    return { exit: once(made, 'exit') }
  })
  return {
    ended: endOf(starting),
    kill(signal) {
      const pid = child?.pid
      if (pid === undefined) return
      if (isGroup) killGroup(pid, signal)
      else child?.kill(signal)
    },
  }
}

function notStarted(error: unknown): string {
  return `could not be started (${systemCode(error) ?? error})`
}

async function endOf(starting: Promise<{ readonly exit: Promise<unknown[]> }>): Promise<string | undefined> {
  try {
    const [code, signal] = await (await starting).exit
    if (code === 0) return undefined
    return typeof code === 'number' ? `ended with exit code ${code}` : `was ended by ${signal}`
  } catch (error) {
    return notStarted(error)
  }
}

function killGroup(leader: number, signal: NodeJS.Signals) {
  try {
    process.kill(-leader, signal)
  } catch (error) {
    // Nothing of the group is left, or all of it is another account's by now.
    if (!['ESRCH', 'EPERM'].includes(systemCode(error) ?? '')) throw error
  }
}
