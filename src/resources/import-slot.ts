import { OverloadedError } from '../errors.ts'
import type { Progress } from '../http/message.ts'

/** How long an import waits for those of other accounts; shorter than REQUEST_TIMEOUT_MS. */
export const IMPORT_WAIT_MS = 15_000
/** While another import waits, the body of the one under way must bring so many bytes for each such time of waiting for it. */
export const IMPORT_LOOK_BYTES_MIN = 512 * 1024
export const IMPORT_LOOK_MS = 2_000

/**
 * The one slot in which the body of an import is read and worked on. An account waits for those of other accounts, in
 * the order of their requests. While one waits, a body that comes too slowly loses the slot.
 */
export interface ImportSlot {
  /**
   * Waits for the slot, for at most IMPORT_WAIT_MS. Call `release` at the end.
   *
   * @param signal Ends the wait; the promise rejects with its reason.
   * @throws {OverloadedError} at once if the account has the slot or waits for it; otherwise when the time is over.
   */
  take(account: string, signal: AbortSignal): Promise<ImportTurn>
}

export interface ImportTurn {
  /**
   * Runs the reading of the body.
   *
   * @param progress How far the body has come.
   * @param read Calls `check` before it works on a piece; that throws once the slot is lost.
   * @throws {OverloadedError} when the slot is lost: while another account waited, less came than IMPORT_LOOK_BYTES_MIN for
   *   each IMPORT_LOOK_MS that the server waited for the body.
   */
  receive<Body>(progress: Progress, read: (check: () => void) => Promise<Body>): Promise<Body>
  release(): void
}

interface QueuedImport {
  readonly account: string
  readonly begin: () => void
  /** Set while the body is read. */
  body?: Body | undefined
}

interface Body {
  readonly progress: Progress
  readonly lose: (error: OverloadedError) => void
  /** The progress at the last look. */
  seen: Progress
}

export function createImportSlot(): ImportSlot {
  let holder: QueuedImport | undefined
  const waiting: QueuedImport[] = []
  /** Runs while somebody waits. */
  let looking: NodeJS.Timeout | undefined

  return {
    async take(account, signal) {
      signal.throwIfAborted()
      if ([holder, ...waiting].some((queued) => queued?.account === account)) throw busy()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const queued: QueuedImport = { account, begin: resolve }
      if (holder === undefined) {
        holder = queued
        return turnOf(queued)
      }
      waiting.push(queued)
      if (looking === undefined) beginToLook()
      const giveUp = (error: unknown) => {
        remove(queued)
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
      return turnOf(queued)
    },
  }

  function turnOf(queued: QueuedImport): ImportTurn {
    return {
      async receive(progress, read) {
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
      },
      release() {
        if (holder === queued) passOn()
      },
    }
  }

  function passOn() {
    const next = waiting.shift()
    holder = next
    clearInterval(looking)
    looking = undefined
    if (waiting.length > 0) beginToLook()
    next?.begin()
  }

  function remove(queued: QueuedImport) {
    if (!waiting.includes(queued)) return
    waiting.splice(waiting.indexOf(queued), 1)
    if (waiting.length > 0) return
    clearInterval(looking)
    looking = undefined
  }

  function beginToLook() {
    if (holder?.body !== undefined) holder.body.seen = stateOf(holder.body.progress)
    looking = setInterval(look, IMPORT_LOOK_MS)
  }

  function look() {
    const body = holder?.body
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
    passOn()
  }
}

function stateOf({ bytes, waitedMs }: Progress): Progress {
  return { bytes, waitedMs }
}

function busy(): OverloadedError {
  return new OverloadedError('Cannot take another import: one is under way; try again')
}
