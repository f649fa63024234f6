import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { underStrace } from '../../support/strace.ts'

/** The calls at which a scenario is killed, one run for each. */
export interface KillPoints {
  /** Name of the system call. */
  readonly call: string
  /** Only calls for this file of the data folder, or for the folder itself (`.`), count. */
  readonly file?: string
  /** Only every n-th call; all when not given. */
  readonly every?: number
}

/**
 * Runs a scenario once, through the command made for its data folder, and checks what the kill left.
 *
 * @returns Whether it was killed before its end.
 */
export type Attempt = (throughFor: (data: string) => string[]) => Promise<boolean>

/** As many cores as a small machine has. */
const LANES = 2

/**
 * Kills a scenario at each point in turn, until it has no more such calls, or until an attempt fails.
 *
 * It ends when every attempt has ended: one that begins after the test would leave its server behind.
 */
export async function killAtEach(
  t: TestContext,
  points: readonly KillPoints[],
  attempt: Attempt,
): Promise<void> {
  const counts = new Map<string, number>()
  let isFailed = false
  const killAt = async (point: KillPoints, when: number): Promise<boolean> => {
    const { call, file } = point
    const what = file === undefined ? call : `${call} ${file}`
    try {
      const isKilled = await attempt((data) => {
        const path = file === undefined ? {} : { path: join(data, file) }
        return underStrace({ calls: call, fault: 'signal=KILL', when: String(when), ...path })
      })
      if (isKilled) counts.set(what, (counts.get(what) ?? 0) + 1)
      return isKilled
    } catch (error) {
      isFailed = true
      throw new Error(`killed at ${what} ${when}: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      })
    }
  }
  const killAtAll = async (point: KillPoints) => {
    const { every = 1 } = point
    let when = 1
    while (!isFailed && (await killAt(point, when))) when += every
    assert.ok(isFailed || when > 1, `${point.call} ${point.file ?? ''} is never called`)
  }
  const queue = [...points]
  const work = async () => {
    for (let point = queue.shift(); point !== undefined && !isFailed; point = queue.shift()) {
      await killAtAll(point)
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: LANES }, work))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  t.diagnostic(`killed at ${[...counts].map(([what, count]) => `${what} (${count})`).join(', ')}`)
}
