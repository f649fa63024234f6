import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { eventually } from '../support/eventually.ts'
import type { ServerProcess } from './server-process.ts'
import type { Period } from './shared-clock.ts'

const PERIOD_MS = 1

/** Has a server loaded with it watch its event loop, and write into the file that EVENT_LOOP_TICKS names. */
export const eventLoopWatch = fileURLToPath(new URL('event-loop-watch.cjs', import.meta.url))

/** Has the server write down when its event loop turned: one time for each millisecond in which it did. */
export async function readTicks(server: ServerProcess, path: string): Promise<Float64Array> {
  server.signal('SIGUSR2')
  let bytes: Buffer | undefined
  await eventually('the server tells of its event loop', async () => {
    bytes = await readFile(path).catch(() => undefined)
    return bytes !== undefined
  })
  return new Float64Array(new Uint8Array(bytes ?? []).buffer)
}

/**
 * For how many milliseconds the event loop was held, as seen from every millisecond of a period.
 *
 * A long hold counts for each of the milliseconds that it covers: something could have come in at any of them. It
 * belongs to the period in which it ends.
 */
export function holdsIn(ticks: Float64Array, { begin, end }: Period): number[] {
  const holds: number[] = []
  for (let i = 1; i < ticks.length; i++) {
    const [before = 0, after = 0] = ticks.subarray(i - 1, i + 1)
    if (after < begin || after >= end) continue
    const held = Math.max(0, after - before - PERIOD_MS)
    holds.push(held)
    for (let rest = held - PERIOD_MS; rest > 0; rest -= PERIOD_MS) holds.push(rest)
  }
  return holds
}
