import type { Stats } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { ConnbookError, DamagedFileError, ifPresent } from '../errors.ts'
import type { Log } from '../log.ts'
import { syncFolder } from './atomic-file.ts'
import type { FileSystem } from './file-system.ts'
import type { JsonDocument } from './json-document.ts'

/** How often a running server looks for changed accounts and keys. */
export const CREDENTIALS_POLL_MS = 500

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
  follow(reader: DocumentReader<Content>): Follower
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

export interface Follower {
  /** Resolves after a look at what is stored that begins now. Never rejects. */
  look(): Promise<void>
  /** As `look`; undefined if nothing can have changed since the last look. */
  catchUp(): Promise<void> | undefined
  /** Stops following. */
  close(): void
}

interface FollowOptions<Content> extends DocumentReader<Content> {
  readonly path: string
  readonly document: Pick<JsonDocument<Content>, 'read'>
  /** For the log. */
  readonly name: 'accounts' | 'keys'
  readonly files: FileSystem
}

/**
 * Polls a file that other processes replace, every CREDENTIALS_POLL_MS. An unreadable, damaged or missing file is
 * logged and changes nothing.
 */
export class DocumentFollower<Content> implements Follower {
  readonly #options: FollowOptions<Content>
  readonly #timer: NodeJS.Timeout
  #content: Content
  /** How the file was when it was last read. Undefined at first: it may have changed since `content` was read. */
  #seen: string | undefined
  #looking: Promise<void> | undefined
  #isClosed = false
  /** The reason logged last. */
  #reason: string | undefined

  constructor(options: FollowOptions<Content>) {
    this.#options = options
    this.#content = options.content
    this.#timer = setInterval(() => {
      if (this.#looking === undefined) void this.#begin()
    }, CREDENTIALS_POLL_MS)
    this.#timer.unref()
  }

  async look(): Promise<void> {
    while (this.#looking !== undefined) await this.#looking
    await this.#begin()
  }

  catchUp(): Promise<void> | undefined {
    return this.#isAsSeen() ? undefined : this.look()
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
  }

  #begin(): Promise<void> {
    this.#looking = this.#lookOnce().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookOnce() {
    const { path, document, files } = this.#options
    let now: string | undefined
    try {
      // Before the content, so that a change in between is seen by the next poll.
      now = describeStats(await ifPresent(files.stat(path)))
      if (now === this.#seen) return
      await this.#compare(await document.read())
      this.#seen = now
      this.#reason = undefined
    } catch (error) {
      this.#logOnce(String(error))
      // Other errors may pass without a change of the file, so the next poll reads again.
      if (error instanceof DamagedFileError) this.#seen = now
    }
  }

  /** Logs each reason once in a row. */
  #logOnce(reason: string) {
    const { name, log } = this.#options
    if (reason !== this.#reason)
      log.error(`${name}_reload_failed`, { reason, in_force: `the ${name} from before` })
    this.#reason = reason
  }

  async #compare(changed: Content | undefined) {
    const { path, name, takeUp, findFault, log, files } = this.#options
    if (changed === undefined)
      return log.error(`${name}_missing`, { file: path, in_force: `the ${name} from before` })
    if (isDeepStrictEqual(changed, this.#content)) return
    const fault = findFault?.(changed)
    if (fault !== undefined) throw new DamagedFileError(path, 0, fault.reason, fault.advice)
    // The writer may not have synced yet; take up nothing that a crash could undo.
    await syncFolder(dirname(path), files)
    if (this.#isClosed) return
    this.#content = changed
    takeUp(changed)
  }

  #isAsSeen(): boolean {
    const { path, files } = this.#options
    try {
      return describeStats(files.statNow(path)) === this.#seen
    } catch {
      // The next reading says why.
      return false
    }
  }
}

/** Differs once the file was replaced. */
function describeStats(found: Stats | undefined): string {
  return found === undefined ? 'missing' : `${found.ino} ${found.mtimeMs} ${found.size}`
}
