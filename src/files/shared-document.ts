import { ConnbookError } from '../errors.ts'
import type { Log } from '../log.ts'

/** A small document that is read, changed and followed. In a cluster, all nodes share it. */
export interface SharedDocument<Content> {
  /** The content as it is stored now. @throws if there is none, or it cannot be read. */
  read(): Promise<Content>
  /**
   * Changes the content that is stored while nobody else changes it; resolves once that is durable, and the followers have
   * taken it up.
   *
   * @param change Called again if another node was faster. Writes nothing if it returns what it was given.
   * @param afterwards Runs right after a write; in a folder, before the next change.
   * @returns The content before and after; the same object if nothing was written.
   * @throws {DocumentBusyError} if other nodes do not finish within LOCK_WAIT_MS. {OutcomeUnknownError}
   * @throws as `read` does, and what `change` and `afterwards` throw.
   */
  edit(
    change: (found: Content) => Content | Promise<Content>,
    afterwards?: () => Promise<void>,
  ): Promise<{ readonly before: Content; readonly after: Content }>
  /**
   * Calls `takeUp` with each new content. What cannot be read or taken up is logged, and changes nothing.
   *
   * @returns Stops that.
   */
  follow(reader: DocumentReader<Content>): () => void
}

/** Others kept changing the document until the time was over. */
export class DocumentBusyError extends ConnbookError {
  readonly code = 'document_busy'
}

export interface DocumentReader<Content> {
  /** The content as last read. */
  readonly content: Content
  /** Called with each new content, once it is durable. */
  takeUp(content: Content): void
  /** Why a content cannot be taken up, with advice for the operator; undefined if it can. */
  findFault?(content: Content): { readonly reason: string; readonly advice: string } | undefined
  readonly log: Log
}

/** Where an `OwnedDocument` is stored. */
interface Storage<Content> {
  /** @throws if there is no content, or it cannot be read. */
  read(): Promise<Content>
  /** Replaces the content durably, or not at all. */
  write(content: Content): Promise<void>
}

/** A document that only this process changes: it is read once, and changed by one edit after the other. */
export class OwnedDocument<Content> implements SharedDocument<Content> {
  readonly #storage: Storage<Content>
  readonly #followers = new Set<(content: Content) => void>()
  #content: Content | undefined
  /** Settles when the last edit has ended; never rejects. */
  #edited: Promise<unknown> = Promise.resolve()

  /** @param content As stored; read when it is first needed if absent. */
  constructor(storage: Storage<Content>, content?: Content) {
    this.#storage = storage
    this.#content = content
  }

  async read(): Promise<Content> {
    if (this.#content !== undefined) return this.#content
    const found = await this.#storage.read()
    // Another reading, and then an edit, may have been faster.
    this.#content ??= found
    return this.#content
  }

  edit(
    change: (found: Content) => Content | Promise<Content>,
    afterwards?: () => Promise<void>,
  ): Promise<{ before: Content; after: Content }> {
    const editing = this.#edited.then(() => this.#edit(change, afterwards))
    this.#edited = editing.catch(() => {})
    return editing
  }

  follow({ takeUp }: Pick<DocumentReader<Content>, 'takeUp'>): () => void {
    this.#followers.add(takeUp)
    return () => this.#followers.delete(takeUp)
  }

  async #edit(
    change: (found: Content) => Content | Promise<Content>,
    afterwards: (() => Promise<void>) | undefined,
  ): Promise<{ before: Content; after: Content }> {
    const before = await this.read()
    const after = await change(before)
    if (after === before) return { before, after }
    await this.#storage.write(after)
    this.#content = after
    for (const takeUp of this.#followers) takeUp(after)
    await afterwards?.()
    return { before, after }
  }
}
