import type { Address, LiveChange } from './address.ts'
import type { Api } from './api.ts'
import type { Configuration } from './configuration.ts'
import type { Notices } from './notices.ts'
import type { Session } from './session.ts'
import type { Undo } from './undo.ts'

/** What every part of the page works with. */
export interface App {
  readonly api: Api
  readonly session: Session
  readonly notices: Notices
  readonly undo: Undo
  readonly live: ChangeSource
  readonly address: Address
  /** The records of the list, as it was shown last. */
  readonly listed: readonly Configuration[]
  /** The link to an address that differs from the present one; to the list, unless it names a record. */
  linkTo(change: Partial<Address>): string
  /** Goes where `linkTo` leads; `replace` adds no step to go back. */
  go(change: Partial<Address>, how?: 'push' | 'replace'): void
  /** Reads again what is shown, because something has changed. */
  refresh(): void
}

/** Reports changes, others' and one's own. */
export interface ChangeSource {
  /** @returns Stops the calls. */
  listen(listener: (change: LiveChange) => void): () => void
}

/** One view of the page; made once. */
export interface ViewPart {
  readonly dom: HTMLElement
  /** Shows what the address says. */
  show(address: Address): void
  /** Reads again what it shows. */
  refresh?(): void
  /** Reads again what it shows, as changes may be missing; many calls are one. */
  refreshSoon?(): void
  /** Takes over whose session it is. */
  takeSession?(): void
  /** Called when another view is shown. */
  hide?(): void
}
