import type { Address, Change } from './address.ts'
import type { Api } from './api.ts'
import type { Labels } from './configuration.ts'
import type { Notices } from './notices.ts'
import type { Session } from './session.ts'

/** What every part of the page works with. */
export interface App {
  readonly api: Api
  readonly session: Session
  readonly notices: Notices
  readonly live: ChangeSource
  readonly address: Address
  /** Those of the records that the list shows. */
  readonly labelsShown: readonly Labels[]
  /** The link to an address that differs from the present one. */
  linkTo(change: Partial<Address>): string
  /** Goes there; `replace` adds no step to go back. */
  go(change: Partial<Address>, how?: 'push' | 'replace'): void
  /** Reads again what is shown, because something has changed. */
  refresh(): void
}

/** Tells others' changes, and one's own. */
export interface ChangeSource {
  /** @returns Stops the calls. */
  listen(listener: (change: Change) => void): () => void
}

/** One view of the page; made once. */
export interface ViewPart {
  readonly dom: HTMLElement
  /** Shows what the address says. */
  show(address: Address): void
  /** Reads again what it shows. */
  refresh?(): void
  /** Takes over whose session it is. */
  takeSession?(): void
  /** Called when another view is shown. */
  hide?(): void
}
