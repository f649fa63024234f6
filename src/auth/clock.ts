import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { createJsonDocument } from '../files/json-document.ts'
import type { Log } from '../log.ts'
import { elapsedInTurn, wallInTurn } from '../turn-clock.ts'

export interface Clock {
  /** Milliseconds since 1970; never decreases, even if the system clock is set back. */
  now(): number
  /** Milliseconds of a monotonic clock, for pauses. */
  elapsed(): number
}

/**
 * Follows the system clock forward and runs on by itself while that is set back: what has expired stays expired.
 *
 * @param notBefore The least value of `now`, in ms since 1970.
 */
export function createClock(
  notBefore = 0,
  wall: () => number = wallInTurn,
  elapsed: () => number = elapsedInTurn,
): Clock {
  let base = Math.max(notBefore, wall())
  let baseElapsed = elapsed()
  return {
    elapsed,
    now() {
      const elapsedNow = elapsed()
      base = Math.max(wall(), base + elapsedNow - baseElapsed)
      baseElapsed = elapsedNow
      return base
    },
  }
}

/** A clock that is never behind the latest moment that is stored, also when the system clock is set back. */
export interface ClockFloor {
  readonly clock: Clock
  /**
   * Stores the present moment: what has expired stays so if the clock is set back and the process killed.
   *
   * @param exp When the credential expired, in seconds since 1970.
   */
  rememberExpired(exp: number): void
  /** Resolves once `rememberExpired` has written or failed; undefined while it writes nothing. Never rejects. */
  readonly remembering: Promise<void> | undefined
  /** Stores the present moment. */
  close(): Promise<void>
}

/** Stores moments in a way that its owner knows. */
export class RememberedClock implements ClockFloor {
  readonly clock: Clock
  /** The latest moment stored, in ms since 1970. */
  #passed: number
  #remembering: Promise<void> | undefined
  /** Whether the last moment was not stored; only the first of several failures is logged. */
  #isForgetful = false
  readonly #store: (passed: number) => Promise<void>
  readonly #log: Log

  /** @param passed The latest moment stored, in ms since 1970. @param store Resolves once a moment is durable. */
  constructor(clock: Clock, passed: number, store: (passed: number) => Promise<void>, log: Log) {
    this.clock = clock
    this.#passed = passed
    this.#store = store
    this.#log = log
  }

  rememberExpired(exp: number): void {
    if (exp * 1000 <= this.#passed || this.#remembering !== undefined) return
    this.#remembering = this.#rememberNow().finally(() => {
      this.#remembering = undefined
    })
  }

  get remembering(): Promise<void> | undefined {
    return this.#remembering
  }

  async close(): Promise<void> {
    await this.#remembering
    await this.#rememberNow()
  }

  async #rememberNow() {
    const passed = Math.floor(this.clock.now())
    try {
      await this.#store(passed)
      this.#passed = passed
      this.#isForgetful = false
    } catch (error) {
      if (!this.#isForgetful) this.#log.warn('clock_floor_not_stored', { reason: String(error) })
      this.#isForgetful = true
    }
  }
}

/**
 * The clock of a node whose revocations are kept elsewhere.
 *
 * @param folder Owned by this process.
 * @param makeClock As `createClock`.
 * @throws {DamagedFileError}
 */
export async function openClockFloor(
  folder: DataPaths,
  { log, makeClock = createClock }: { log: Log; makeClock?: (notBefore: number) => Clock },
): Promise<ClockFloor> {
  const path = folder.file(dataFiles.clock)
  const advice = 'remove it if the clock of this machine is right'
  const document = createJsonDocument(
    path,
    { format: 'connbook clock', version: 1, parse: parseMoment },
    advice,
    folder.files,
  )
  const passed = (await document.read()) ?? 0
  return new RememberedClock(makeClock(passed), passed, (moment) => document.write(moment), log)
}

function parseMoment(input: unknown): number {
  if (typeof input !== 'number' || !Number.isSafeInteger(input) || input < 0)
    throw new SyntaxError('it holds no moment')
  return input
}
