/** Who makes a change: the sender of a request, or whoever ran a command. */
export type Actor = Sender | CommandActor

export interface Sender {
  /** Without a port. */
  readonly address: string
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

/** The sender of a request without the request, which a waiting change must not keep in memory. */
export function senderOf({ address, requestId, principal }: Sender): Sender {
  if (principal === undefined) return { address, requestId }
  const { kind, name } = principal
  return { address, requestId, principal: { kind, name } }
}
