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
