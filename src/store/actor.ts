import type { Configuration } from './configuration.ts'

/** Who makes a change: the sender of a request, or whoever ran a command. */
export type Actor = Sender | CommandActor

export interface Sender {
  /** Without a port. Unknown of a change that another node has made. */
  readonly address?: string
  readonly requestId: string
  /** Absent before the caller is authenticated. */
  readonly principal?: { readonly kind: 'user' | 'client'; readonly name: string }
}

export interface CommandActor {
  /** Its words, without names: "user add". */
  readonly command: string
  /** The system account that ran it. */
  readonly by: string
}

/** A request, or whatever else names its sender. */
interface Sent extends Omit<Sender, 'principal' | 'address'> {
  readonly address: string
  readonly principal?:
    | NonNullable<Sender['principal']>
    | { readonly kind: 'command'; readonly name: string; readonly command: string }
}

/** Who sent a request, without the request, which a waiting change must not keep in memory. */
export function senderOf({ address, requestId, principal }: Sent): Actor {
  if (principal === undefined) return { address, requestId }
  const { kind, name } = principal
  if (kind === 'command') return { command: principal.command, by: name }
  return { address, requestId, principal: { kind, name } }
}

/** Who asks for a change, and may be gone, or have lost the right to it, when it is decided or when its turn comes. */
export interface Asker {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
  /**
   * Judges by what the caller may do now. Called when a change is decided, and again just before it is written.
   *
   * @param before The record that changes, as far as one change of one record is known already; undefined if it is added.
   * @param after The same record, as it becomes; undefined if it is removed.
   * @throws if the change is not allowed, or not any more; nothing has changed.
   */
  checkAgain?: (before?: Configuration, after?: Configuration) => void
}
