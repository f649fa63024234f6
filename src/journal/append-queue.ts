import { OverloadedError } from '../errors.ts'
import { FRAME_CHANGES_MAX, WAITING_CHANGES_MAX } from '../limits.ts'

/** Changes that become one frame and are applied as a whole, in slices. */
export interface LargeChange {
  /** How many changes. */
  readonly count: number
  /** As `encode` would give it, in pieces. */
  readonly json: readonly Buffer[]
  /** Applies them once they are durable. No other change is applied until it resolves. */
  apply(firstRevision: number): Promise<void>
}

/** Changes that wait for their frame. */
export interface Append<Change> {
  readonly changes: readonly Change[]
  /** Set for changes that must be in one frame. */
  readonly json: string | undefined
  /** Set for a change that is written in pieces; then `changes` is empty. */
  readonly large: LargeChange | undefined
  /** Called just before the frame is made; what it throws refuses the changes. */
  readonly check: (() => void) | undefined
  resolve(): void
  reject(error: Error): void
}

/** The appends that wait, in their order. */
export class AppendQueue<Change> {
  #waiting: Append<Change>[] = []

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  get first(): Append<Change> | undefined {
    return this.#waiting[0]
  }

  /** @throws {OverloadedError} if WAITING_CHANGES_MAX wait already. */
  add(append: Append<Change>): void {
    if (this.#waiting.length >= WAITING_CHANGES_MAX)
      throw new OverloadedError('Cannot take another change: too many wait for the disk')
    this.#waiting.push(append)
  }

  /** Why the first append is not allowed any more; undefined if it is, or if none waits. */
  refusalOfFirst(): Error | undefined {
    return this.first && refusalOf(this.first)
  }

  takeFirst(): Append<Change>[] {
    return this.#waiting.splice(0, 1)
  }

  takeAll(): Append<Change>[] {
    return this.#waiting.splice(0)
  }

  /** Takes the first append, and those behind it that go into the same frame: none that must be refused. */
  takeFrame(): Append<Change>[] {
    if (this.first?.json !== undefined) return this.takeFirst()
    const end = this.#waiting.findIndex((append, i) => {
      if (i === 0) return false
      const isAlone = append.json !== undefined || append.large !== undefined
      return i === FRAME_CHANGES_MAX || isAlone || refusalOf(append) !== undefined
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }
}

/** Why an append is not allowed any more; undefined if it is. */
function refusalOf({ check }: Pick<Append<unknown>, 'check'>): Error | undefined {
  try {
    check?.()
    return undefined
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
