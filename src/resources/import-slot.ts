import { OverloadedError } from '../errors.ts'
import type { BodyProgress } from '../http/message.ts'

/** How long an import waits for those of other accounts; shorter than REQUEST_TIMEOUT_MS. */
export const IMPORT_WAIT_MS = 15_000
/** While another import waits, the body of the one under way must bring so many bytes for each such time of waiting for it. */
export const IMPORT_LOOK_BYTES_MIN = 512 * 1024
export const IMPORT_LOOK_MS = 2_000

export interface ImportTurn {
  /**
   * Runs the reading of the body.
   *
   * @param progress How far the body has come.
   * @param read Calls `check` before it works on a piece; that throws once the slot is lost.
   * @throws {OverloadedError} when the slot is lost: while another account waited, less came than IMPORT_LOOK_BYTES_MIN for
   *   each IMPORT_LOOK_MS that the server waited for the body.
   */
  receive<Body>(progress: BodyProgress, read: (check: () => void) => Promise<Body>): Promise<Body>
  release(): void
}

interface QueuedImport {
  readonly account: string
  readonly begin: () => void
  /** Set while the body is read. */
  body?: Body | undefined
}

interface Body {
  readonly progress: BodyProgress
  readonly lose: (error: OverloadedError) => void
  /** The progress at the last look. */
  seen: BodyProgress
}

/**
 * A slot in which the body of one import is read and worked on. An account waits for those of other accounts, in
 * the order of their requests. While one waits, a body that comes too slowly loses the slot.
 */
export class ImportSlot {
  #holder: QueuedImport | undefined
  readonly #waiting: QueuedImport[] = []
  /** Runs while somebody waits. */
  #looking: NodeJS.Timeout | undefined

  /**
   * Waits for the slot, for at most IMPORT_WAIT_MS. Call `release` at the end.
   *
   * @param signal Ends the wait; the promise rejects with its reason.
   * @throws {OverloadedError} at once if the account has the slot or waits for it; otherwise when the time is over.
   */
  async take(account: string, signal: AbortSignal): Promise<ImportTurn> {
    signal.throwIfAborted()
    if ([this.#holder, ...this.#waiting].some((queued) => queued?.account === account)) throw busy()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const queued: QueuedImport = { account, begin: resolve }
    if (this.#holder === undefined) {
      this.#holder = queued
      return this.#turnOf(queued)
    }
    this.#waiting.push(queued)
    if (this.#looking === undefined) this.#beginToLook()
    const giveUp = (error: unknown) => {
      this.#remove(queued)
      reject(error)
    }
    const limit = setTimeout(() => giveUp(busy()), IMPORT_WAIT_MS)
    const leave = () => giveUp(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    try {
      await promise
    } finally {
      clearTimeout(limit)
      signal.removeEventListener('abort', leave)
    }
    return this.#turnOf(queued)
  }

  #turnOf(queued: QueuedImport): ImportTurn {
    return {
      receive: (progress, read) => receive(queued, progress, read),
      release: () => {
        if (this.#holder === queued) this.#passOn()
      },
    }
  }

  #passOn() {
    const next = this.#waiting.shift()
    this.#holder = next
    this.#stopLooking()
    if (this.#waiting.length > 0) this.#beginToLook()
    next?.begin()
  }

  #remove(queued: QueuedImport) {
    if (!this.#waiting.includes(queued)) return
    this.#waiting.splice(this.#waiting.indexOf(queued), 1)
    if (this.#waiting.length === 0) this.#stopLooking()
  }

  #beginToLook() {
    const body = this.#holder?.body
    if (body !== undefined) body.seen = stateOf(body.progress)
    this.#looking = setInterval(() => this.#look(), IMPORT_LOOK_MS)
  }

  #stopLooking() {
    clearInterval(this.#looking)
    this.#looking = undefined
  }

  #look() {
    const body = this.#holder?.body
    if (body === undefined) return
    const { seen, progress, lose } = body
    body.seen = stateOf(progress)
    const waitedMs = body.seen.waitedMs - seen.waitedMs
    if (body.seen.bytes - seen.bytes >= (waitedMs / IMPORT_LOOK_MS) * IMPORT_LOOK_BYTES_MIN) return
    lose(
      new OverloadedError(
        'Cannot take the import: its body came too slowly, and another import was waiting; nothing has changed; send it again',
      ),
    )
    this.#passOn()
  }
}

/** Reads a body for as long as its import has the slot. */
async function receive<Body>(
  queued: QueuedImport,
  progress: BodyProgress,
  read: (check: () => void) => Promise<Body>,
): Promise<Body> {
  const { promise: lost, reject } = Promise.withResolvers<never>()
  let error: OverloadedError | undefined
  const lose = (because: OverloadedError) => {
    error = because
    reject(because)
  }
  const check = () => {
    if (error !== undefined) throw error
  }
  queued.body = { progress, lose, seen: stateOf(progress) }
  try {
    return await Promise.race([read(check), lost])
  } finally {
    queued.body = undefined
  }
}

function stateOf({ bytes, waitedMs }: BodyProgress): BodyProgress {
  return { bytes, waitedMs }
}

function busy(): OverloadedError {
  return new OverloadedError('Cannot take another import: one is under way; try again')
}
