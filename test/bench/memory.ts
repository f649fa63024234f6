import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type Period, sharedNow } from './shared-clock.ts'

const LOOK_MS = 20
/** Memory has settled once it has changed by less than this share for so long. */
const SETTLED_MS = 1_000
const SETTLED_SHARE = 0.005
const SETTLING_MS_MAX = 6_000

/** MiB. */
export interface Memory {
  /** All pages in memory, those of files too. */
  readonly resident: number
  /** The same, with pages that several processes have divided among them. */
  readonly proportional: number
  /** Only what belongs to no file. */
  readonly anonymous: number
}

/** A process whose memory can be read. */
export interface WithMemory {
  memory(): Memory
  /** `memory().resident`, without holding the process up. */
  residentMebibytes(): number
}

/** See proc_pid_status(5). */
export function residentMebibytesOf(pid: number | undefined): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

/** See proc_pid_smaps(5). */
export function memoryOf(pid: number | undefined): Memory {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const mebibytes = (field: string) =>
    Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(rollup)?.[1]) / 1024
  return { resident: mebibytes('Rss'), proportional: mebibytes('Pss'), anonymous: mebibytes('Anonymous') }
}

/** Waits until an idle server takes and gives back no more memory, but not longer than some seconds. */
export async function settledMemory(server: WithMemory): Promise<Memory> {
  const deadline = performance.now() + SETTLING_MS_MAX
  let reference = Number.NaN
  let since = 0
  for (let now = performance.now(); now < deadline; now = performance.now()) {
    const resident = server.residentMebibytes()
    if (!(Math.abs(resident - reference) <= SETTLED_SHARE * reference)) {
      reference = resident
      since = now
    }
    if (now - since >= SETTLED_MS) break
    await pause(LOOK_MS)
  }
  return server.memory()
}

/** Looks at the memory of a server again and again, until `stop`. */
export function followMemory(server: WithMemory) {
  const looks: { readonly at: number; readonly mebibytes: number }[] = []
  const look = () => looks.push({ at: sharedNow(), mebibytes: server.residentMebibytes() })
  const timer = setInterval(look, LOOK_MS)
  return {
    stop: () => clearInterval(timer),
    during: ({ begin, end }: Period): number[] =>
      looks.filter(({ at }) => at >= begin && at <= end).map(({ mebibytes }) => mebibytes),
  }
}
