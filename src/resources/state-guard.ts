import { StorageUnavailableError } from '../errors.ts'
import type { Request } from '../http/message.ts'
import type { Handler } from '../http/router.ts'

/** What a server knows of a state that other processes change, too. */
export interface StateGuard {
  /** Why nothing can be answered that depends on the state; undefined while it can. */
  whyNotReadable(): string | undefined
  /** As `ChangeLog.catchUp`. */
  catchUp(): Promise<void> | undefined
}

const NO_CACHE = /(?:^|[\s,])no-cache(?:$|[\s,])/i

/**
 * Refuses what depends on a state that is too old. A read with `Cache-Control: no-cache` is answered from the newest one,
 * which is what the origin is asked for there (RFC 9111 section 5.2.1.4).
 */
export function guarded(handle: Handler, guard: StateGuard): Handler {
  return (request, parameter) => {
    checkReadable(guard)
    const fresh = asksForNewest(request) ? guard.catchUp() : undefined
    return fresh === undefined ? handle(request, parameter) : fresh.then(() => handle(request, parameter))
  }
}

/** @throws {StorageUnavailableError} if the state is too old to be read. */
export function checkReadable({ whyNotReadable }: Pick<StateGuard, 'whyNotReadable'>): void {
  const reason = whyNotReadable()
  if (reason !== undefined) throw new StorageUnavailableError(`${reason}; ask another node, or try later`)
}

function asksForNewest({ method, headers }: Request): boolean {
  const wanted = headers['cache-control']
  return wanted !== undefined && (method === 'GET' || method === 'HEAD') && NO_CACHE.test(wanted)
}
