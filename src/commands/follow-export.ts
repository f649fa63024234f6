import type { Stats } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Client } from '../client/client.ts'
import { listPath } from '../client/endpoint.ts'
import { isPassing } from '../client/followed-records.ts'
import { pause } from '../client/pause.ts'
import { OtherAnswerError } from '../client/refused.ts'
import type { Screen } from '../command-line/command.ts'
import { ifReachable } from '../errors.ts'
import { sweepTemporaryFiles } from '../files/atomic-file.ts'
import { realFileSystem } from '../files/file-system.ts'
import { refreshFile } from '../files/refreshed-file.ts'
import { FileNotReplacedError, lookBefore } from '../files/replaced-file.ts'
import { ExportRefusedError } from './export-remarks.ts'
import type { FollowedCommand } from './followed-command.ts'
import { openServedExport, type WantedExport } from './served-export.ts'
import { replacedPath } from './written-file.ts'

/** Changes within this time are written together; it bounds how often the server makes an export. */
export const GATHER_MS = 350
/** Between looks whether the file is still there as it was written. */
export const FILE_LOOK_MS = 2_000
/** Before the next try, when the server was not reached or the file not written. */
export const RETRY_MS = 1_000
/** A server may be silent for longer, but not for long enough to notice late that it has gone. */
const WAIT_SECONDS = 20
/** Before the next question, in case that a proxy makes the server answer at once. */
export const NEXT_WAIT_MS = 250

/** A file that is kept as an export of a server would be. */
export interface FollowedFile {
  /** Calls the server. */
  readonly client: Client
  readonly wanted: WantedExport
  readonly path: string
  /** Begins the message of an error: "Cannot write the export to". */
  readonly what: string
  readonly command: Pick<FollowedCommand, 'fileIsFresh' | 'stop'> | undefined
}

/**
 * Writes an export, and again after each change of what is in it, until the signal ends that.
 *
 * What passes, such as a server that is away or a disk that is full, is said once and tried again.
 *
 * @throws {RefusedError} when the credential has ended. {FileNotReplacedError} at the start, if the file can never be written.
 */
export async function followExport(file: FollowedFile, screen: Screen, signal: AbortSignal): Promise<void> {
  const { client, command } = file
  const path = await replacedPath(file.path, file.what, client.endpoint.folder)
  const swept = ifReachable(sweepTemporaryFiles(dirname(path), [basename(path)], realFileSystem))
  await lookBefore(swept, file.what, path)
  const refresher = new Refresher(file, screen, signal)
  try {
    while (!signal.aborted) await refresher.next()
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await command?.stop()
  }
}

/** Why the file is not fresh, as it was said. */
interface StaleReason {
  readonly of: 'server' | 'file' | 'records'
  readonly message: string
}

/** One followed file. */
class Refresher {
  readonly #file: FollowedFile
  readonly #screen: Screen
  readonly #signal: AbortSignal
  /** The tag of the records that the file shows, or that cannot be expressed; undefined if it must be written. */
  #tag: string | undefined
  /** The file as it was left; undefined before the first time. */
  #written: string | undefined
  #lastMs = 0
  #isFirst = true
  #staleReason: StaleReason | undefined
  /** As they were said. */
  #remarks = ''

  constructor(file: FollowedFile, screen: Screen, signal: AbortSignal) {
    this.#file = file
    this.#screen = screen
    this.#signal = signal
  }

  /** Waits until the file must be written, and writes it. */
  async next(): Promise<void> {
    try {
      const { client } = this.#file
      const tag = await this.#waitForReason(client)
      this.#tag = tag
      await this.#refresh(client)
      this.#recover(client)
    } catch (error) {
      if (this.#signal.aborted) return
      if (error instanceof ExportRefusedError) this.#report('records', error.message)
      else if (isPassing(error)) await this.#tryLater('server', error)
      else if (error instanceof FileNotReplacedError) await this.#tryLater('file', error)
      else throw error
    }
  }

  /** @returns The tag of the list before the export. */
  async #waitForReason(client: Client): Promise<string> {
    if (this.#tag === undefined) return waitForChange(client, undefined, this.#signal)
    const over = new AbortController()
    const signal = AbortSignal.any([this.#signal, over.signal])
    try {
      const tag = await Promise.race([waitForChange(client, this.#tag, signal), this.#waitForLoss(signal)])
      // A long export is followed by a pause of its own length.
      if (tag !== undefined) await pause(Math.max(GATHER_MS, this.#lastMs), this.#signal)
      return tag ?? this.#tag
    } finally {
      over.abort()
    }
  }

  /** Resolves when somebody else has removed or changed the file. */
  async #waitForLoss(signal: AbortSignal): Promise<undefined> {
    while (!signal.aborted) {
      await pause(FILE_LOOK_MS, signal)
      if (this.#written !== undefined && (await this.#identityNow()) !== this.#written) return
    }
  }

  /** Undefined if the file is not there, or cannot be looked at. */
  async #identityNow(): Promise<string | undefined> {
    const found = await realFileSystem.stat(this.#file.path).catch(() => undefined)
    return found && identityOf(found)
  }

  async #refresh(client: Client) {
    const { wanted, path: named, what, command } = this.#file
    const begin = performance.now()
    const path = await replacedPath(named, what, client.endpoint.folder)
    let [tag, remarks]: [string | undefined, string] = [undefined, '']
    const write = async (print: (text: string) => Promise<void>) => {
      const served = await openServedExport(client, wanted, this.#signal)
      tag = served.tag
      remarks = served.remarks
      await served.write(print)
    }
    const { isReplaced, stats } = await refreshFile(path, what, write, this.#signal, realFileSystem)
    this.#written = identityOf(stats)
    this.#lastMs = performance.now() - begin
    // Behind a load balancer it may be of another node, whose records are older or newer.
    this.#tag = tag ?? this.#tag
    if (remarks !== this.#remarks) this.#screen.write(remarks)
    this.#remarks = remarks
    command?.fileIsFresh(isReplaced)
  }

  async #tryLater(of: StaleReason['of'], { message }: Error) {
    this.#tag = undefined
    this.#report(of, `${message}; it is tried again`)
    await pause(RETRY_MS, this.#signal)
  }

  /** Says it once: what is wrong with a server that is away may change while it is. */
  #report(of: StaleReason['of'], message: string) {
    const known = this.#staleReason
    if (known?.of !== of || (of !== 'server' && known.message !== message))
      this.#screen.write(`connbook: ${message}\n`)
    this.#staleReason = { of, message }
  }

  #recover(client: Client) {
    const { wanted, path } = this.#file
    if (this.#isFirst)
      this.#screen.write(`Exported from ${client.endpoint.name} as ${wanted.format}; it is kept fresh\n`)
    else if (this.#staleReason !== undefined) this.#screen.write(`connbook: "${path}" is fresh again\n`)
    this.#isFirst = false
    this.#staleReason = undefined
  }
}

/**
 * Waits until some record has changed.
 *
 * @param seen The tag of a list or an export, as its header has it; without it the answer comes at once.
 * @param signal Ends the wait.
 * @returns The tag of the list by now.
 * @throws as `Client.open` does; {OtherAnswerError} if the list has no tag.
 */
async function waitForChange(client: Client, seen: string | undefined, signal: AbortSignal): Promise<string> {
  const headers = seen === undefined ? {} : { 'If-None-Match': seen, Prefer: `wait=${WAIT_SECONDS}` }
  // Nothing of the list is needed but its tag.
  const path = listPath({ page: 0, per_page: 1 })
  for (;;) {
    const { status, headers: answered } = await client.ask({ method: 'GET', path, headers }, signal)
    if (status !== 304) return tagOf(answered.etag)
    await pause(NEXT_WAIT_MS, signal)
  }
}

function tagOf(etag: string | undefined): string {
  if (etag !== undefined) return etag
  throw new OtherAnswerError('The list has no ETag; does a proxy remove it?')
}

/** Differs after any change of the file. */
function identityOf({ dev, ino, size, mtimeMs }: Stats): string {
  return `${dev}:${ino}:${size}:${mtimeMs}`
}
