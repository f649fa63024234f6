import { ConnbookError } from '../errors.ts'
import type { Log } from '../log.ts'

/** A small document that several processes read, change and follow. */
export interface SharedDocument<Content> {
  /** The content as it is stored now. @throws if there is none, or it cannot be read. */
  read(): Promise<Content>
  /**
   * Changes the content that is stored while nobody else changes it; resolves once that is durable.
   *
   * @param change Called again if somebody else was faster. Writes nothing if it returns what it was given.
   * @param afterwards Runs right after a write; in a folder, before anybody else changes the document.
   * @returns The content before and after; the same object if nothing was written.
   * @throws {DocumentBusyError} if others do not finish within LOCK_WAIT_MS. {OutcomeUnknownError}
   * @throws as `read` does, and what `change` and `afterwards` throw.
   */
  edit(
    change: (found: Content) => Content | Promise<Content>,
    afterwards?: () => Promise<void>,
  ): Promise<{ readonly before: Content; readonly after: Content }>
  /** Calls `takeUp` with each new content. What cannot be read or taken up is logged, and changes nothing. */
  follow(following: Following<Content>): Follower
}

/** Others kept changing the document until the time was over. */
export class DocumentBusyError extends ConnbookError {
  readonly code = 'document_busy'
}

export interface Following<Content> {
  /** The content as last read. */
  readonly content: Content
  /** Called with each new content, once it is durable. */
  takeUp(content: Content): void
  /** Why a content cannot be taken up, with advice for the operator; undefined if it can. */
  findFault?(content: Content): { readonly reason: string; readonly advice: string } | undefined
  readonly log: Log
}

export interface Follower {
  /** Resolves after a look at what is stored that begins now. Never rejects. */
  look(): Promise<void>
  /** As `look`; undefined if nothing can have changed since the last look. */
  catchUp(): Promise<void> | undefined
  /** Stops following. */
  close(): void
}
