import { type ChildProcess, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CONNECTIONS, type Load, type LoadResult } from './load.ts'

const script = fileURLToPath(new URL('wrk-load.lua', import.meta.url))
const RUN_DIGITS = 4
/** It counts in whole seconds, and is told to stop before. */
const LATE_SECONDS = '60'
const LOOK_MS = 10

let runs = 0

interface Told {
  readonly requests: number
  readonly microseconds: number
  readonly failures: number
  readonly unexpected: number
  readonly unexpectedStatus: number
  readonly p50: number
  readonly p99: number
  readonly cpuMicroseconds: number
}

/** @throws {Error} as `measureLoad` does. */
export async function runWrk(url: string, load: Load, milliseconds: number): Promise<LoadResult> {
  const { method = 'GET', paths, headers = {}, body = '', status = 200, connections = CONNECTIONS } = load
  const types = body === '' ? {} : { 'Content-Type': 'application/json' }
  const fields = Object.entries({ ...types, ...headers }).flatMap(([name, value]) => [
    '-H',
    `${name}: ${value}`,
  ])
  const run = String(runs++).padStart(RUN_DIGITS, '0')
  const options = ['-t1', `-c${connections}`, `-d${LATE_SECONDS}`, '-s', script, ...fields]
  const child = spawn('wrk', [...options, url, '--', method, String(status), run, body, ...paths], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const killWithBench = () => child.kill('SIGKILL')
  process.once('exit', killWithBench)
  const ended = new AbortController()
  const stopping = stopAfter(child, milliseconds, ended.signal)
  const output = await text(child.stdout)
  ended.abort()
  await stopping
  process.off('exit', killWithBench)
  const told = parseOutput(output)
  if (told === undefined || told.failures > 0 || told.unexpected > 0 || told.requests === 0) {
    throw new Error(`${method} ${paths[0]} should be answered ${status}, but wrk says: ${output}`)
  }
  return {
    requests: told.requests,
    seconds: told.microseconds / 1e6,
    p50: told.p50 / 1000,
    p99: told.p99 / 1000,
    generatorSeconds: told.cpuMicroseconds / 1e6,
  }
}

/** Sends SIGINT until the run has ended: wrk misses one that comes just before it goes to sleep. */
async function stopAfter(wrk: ChildProcess, milliseconds: number, ended: AbortSignal) {
  while (!ended.aborted && !(await catchesInterrupt(wrk))) await pause(LOOK_MS)
  for (let ms = milliseconds; !ended.aborted; ms = LOOK_MS) {
    await pause(ms, undefined, { signal: ended }).catch(() => {})
    wrk.kill('SIGINT')
  }
}

/** Before it handles the signal, wrk would end without a result; see proc_pid_status(5). */
async function catchesInterrupt({ pid }: ChildProcess): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const caught = /^SigCgt:\t(\w+)$/m.exec(status)?.[1] ?? '0'
  return (BigInt(`0x${caught}`) & (1n << BigInt(constants.signals.SIGINT - 1))) !== 0n
}

function parseOutput(output: string): Told | undefined {
  const line = output.trimEnd().split('\n').at(-1)
  return line?.startsWith('{') ? JSON.parse(line) : undefined
}
