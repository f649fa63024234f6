import { callInProcess } from '../client/in-process.ts'
import type { Call, CallOptions, OpenResponse } from '../client/messages.ts'
import { FolderRefusedError, ifPresent } from '../errors.ts'
import { type DataPaths, dataFiles, isReadOnly } from '../files/data-folder.ts'
import { leaveFolder, lookUndisturbed, openDataFolder } from '../files/owned-folder.ts'
import type { Log } from '../log.ts'
import { Scheduler } from '../scheduler.ts'
import { isNewFolder, type PreparedFolder, prepareFolder } from '../state/new-folder.ts'
import { checkUsedFolder } from '../state/used-folder.ts'
import { openBook } from './book.ts'
import { openStateForCommand } from './folder-state.ts'

/** Whoever calls tries again: by then a server may have the folder. */
const atOnce = { lockWaitMs: 0 }
/** The lowest status of an answer with which nothing has changed. */
const REFUSED = 400
/** Without the options of a server; no session and no token is given. */
const options = {
  basePath: '',
  publicUrl: undefined,
  sessionTtlSeconds: 0,
  tokenTtlSeconds: 0,
  metricsPublic: false,
  noConsole: true,
}

export interface OwnBookOptions {
  readonly environment: NodeJS.ProcessEnv
  readonly log: Log
  readonly screen: { write(text: string): unknown }
  /** Whether a folder that holds nothing of connbook, or is missing, becomes a book by the first change that is made. */
  readonly isMadeIfMissing: boolean
}

interface OpenedBook extends AsyncDisposable {
  readonly app: Parameters<typeof callInProcess>[0]
  readonly isReadOnly: boolean
  /** Keeps a book that was made for these calls. Without this, nothing is left of it in the end. */
  keep(): void
}

/**
 * The book of a folder without a server, opened in this process. It owns the folder while it answers a call, and lets it go
 * when no other call follows at once: not while a person, another program or standard input is waited for, nor while an
 * answer is printed.
 */
export class OwnBook implements AsyncDisposable {
  readonly #folder: DataPaths
  readonly #options: OwnBookOptions
  #opened: Promise<OpenedBook> | undefined
  #closing: Promise<void> = Promise.resolve()
  #calls = 0

  constructor(folder: DataPaths, options: OwnBookOptions) {
    this.#folder = folder
    this.#options = options
  }

  /** Whether this process has the folder now. */
  get isOpen(): boolean {
    return this.#opened !== undefined
  }

  /**
   * As `openCall`. Records that an answer lists are those of the moment of the call, although it is sent when the folder
   * has been let go.
   *
   * @throws {FolderInUseError} {FolderRefusedError} {DamagedFileError} if the folder cannot be opened.
   * @throws {FolderRefusedError} for a change where nothing can be written.
   */
  async call(call: Call, { signal }: CallOptions): Promise<OpenResponse> {
    this.#calls += 1
    try {
      await this.#closing
      this.#opened ??= this.#open(isRead(call))
      const { app, isReadOnly, keep } = await this.#opened
      if (isReadOnly && !isRead(call)) throw readOnly(this.#folder.path)
      const answer = await callInProcess(app, call, signal)
      if (answer.status < REFUSED && !isRead(call)) keep()
      return answer
    } finally {
      this.#calls -= 1
      setTimeout(() => this.#closeUnlessCalled(), 0)
    }
  }

  /** Resolves once the folder has been let go. Never rejects: what was answered is durable. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closeUnlessCalled()
    await this.#closing
  }

  #open(isReading: boolean): Promise<OpenedBook> {
    const opened = openFolder(this.#folder, this.#options, isReading)
    // The next call tries anew.
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined
    })
    return opened
  }

  #closeUnlessCalled() {
    const opened = this.#opened
    if (this.#calls > 0 || opened === undefined) return
    this.#opened = undefined
    this.#closing = this.#close(opened)
  }

  async #close(opened: Promise<OpenedBook>) {
    // A folder that could not be opened has nothing to close; whoever called has the error.
    const book = await opened.catch(() => undefined)
    try {
      await book?.[Symbol.asyncDispose]()
    } catch (error) {
      this.#options.log.error('folder_not_closed', { reason: String(error) })
    }
  }
}

async function openFolder(paths: DataPaths, given: OwnBookOptions, isReading: boolean): Promise<OpenedBook> {
  await using opening = new AsyncDisposableStack()
  const { folder, isReadOnly, undo } = await takeFolder(paths, given, isReading)
  let isKept = undo === undefined
  opening.defer(() => (isKept ? folder.release() : undo?.()))
  const { environment, log, screen } = given
  const book = await openBook({
    ...{ folder, options, environment, log, isReadOnly, opened: opening },
    scheduler: new Scheduler(),
    makeClock: undefined,
    signal: undefined,
    ttlSeconds: undefined,
    // Only a server knows how much the trail may keep.
    auditFileBytes: Number.POSITIVE_INFINITY,
    openState: openStateForCommand,
    hasStarted: () => false,
    isStopping: () => false,
    metrics: [],
  })
  const opened = opening.move()
  const keep = () => {
    if (!isKept) screen.write(madeText(paths.path))
    isKept = true
  }
  return { app: book.apps.owner, isReadOnly, keep, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function madeText(path: string): string {
  return `connbook: Made the data folder "${path}"; the first start of the server adds what is missing\n`
}

interface TakenFolder extends Pick<PreparedFolder, 'folder'>, Partial<Pick<PreparedFolder, 'undo'>> {
  readonly isReadOnly: boolean
}

/** Where nothing can be written, nothing is locked either. */
async function takeFolder(paths: DataPaths, given: OwnBookOptions, isReading: boolean): Promise<TakenFolder> {
  const isMade = await lookUndisturbed(paths, async () => {
    if (given.isMadeIfMissing && !isReading && (await isNewFolder(paths))) return true
    await checkUsedFolder(paths)
    return false
  })
  if (isMade) return { ...(await prepareFolder(paths, given.log, atOnce)), isReadOnly: false }
  if (await isReadOnly(paths))
    return { folder: { ...paths, completedRestore: undefined, isNew: false, release() {} }, isReadOnly: true }
  const folder = await openDataFolder(paths.path, paths.files, atOnce)
  try {
    if ((await ifPresent(folder.files.lstat(folder.file(dataFiles.accounts)))) !== undefined)
      return { folder, isReadOnly: false }
  } catch (error) {
    folder.release()
    throw error
  }
  // Whoever had made it has taken it back since.
  await leaveFolder(folder)
  return takeFolder(paths, given, isReading)
}

function isRead({ method, path }: Call): boolean {
  return method === 'GET' || new URLSearchParams(path.replace(/^[^?]*\??/, '')).has('dry_run')
}

function readOnly(path: string): FolderRefusedError {
  return new FolderRefusedError(
    `Cannot change anything in "${path}": the file system is read-only; mount it for writing, or name another folder with --data`,
  )
}
