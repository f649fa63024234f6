import { ownerHeaders } from '../http/owner-headers.ts'
import type { CommandActor } from '../store/actor.ts'
import { type Answer, type Call, callOnSocket } from './call.ts'
import { callPatiently } from './retry.ts'

/**
 * Calls the server of a data folder on the owner's socket, again while it is busy.
 *
 * @param socketPath From `findOwnerSocket`.
 * @param actor Whom the audit trail names.
 * @throws {UnreachableError} {NoAnswerError}
 */
export function callAsOwner(socketPath: string, actor: CommandActor, call: Call): Promise<Answer> {
  const headers = {
    [ownerHeaders.account]: encodeURIComponent(actor.by),
    [ownerHeaders.command]: encodeURIComponent(actor.command),
    ...call.headers,
  }
  return callPatiently(() => callOnSocket(socketPath, { ...call, headers }))
}
