import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { DamagedFileError, ifPresent } from '../errors.ts'
import { CREDENTIALS_POLL_MS } from '../limits.ts'
import type { Log } from '../log.ts'
import { syncFolder } from './atomic-file.ts'
import type { FileSystem } from './file-system.ts'
import type { JsonDocument } from './json-document.ts'

export interface FollowOptions<Content> {
  readonly path: string
  readonly document: Pick<JsonDocument<Content>, 'read'>
  /** What the file held a moment ago. */
  readonly content: Content
  /** What the log calls it: "accounts". */
  readonly name: string
  /** Called with each other content, once it is on disk. */
  takeUp(content: Content): void
  readonly log: Log
  readonly files: FileSystem
}

/**
 * Follows a file that other processes replace: a change is taken up within CREDENTIALS_POLL_MS. A file that cannot be read
 * changes nothing and is logged; one that is damaged or missing only once.
 *
 * @returns Ends the following.
 */
export function followDocument<Content>(options: FollowOptions<Content>): () => void {
  const { path, document, name, takeUp, log, files } = options
  let { content } = options
  // Undefined at first: the file may have changed since the content was read.
  let lookTaken: string | undefined
  let isLooking = false
  let isClosed = false
  let toldReason: string | undefined

  const timer = setInterval(look, CREDENTIALS_POLL_MS)
  timer.unref()

  async function look() {
    if (isLooking) return
    isLooking = true
    let now: string | undefined
    try {
      // Taken before the content, so that a change in between is seen the next time.
      now = await lookOf(path, files)
      if (now === lookTaken) return
      await compare(await document.read())
      lookTaken = now
      toldReason = undefined
    } catch (error) {
      tell(String(error))
      // Any other failure may pass without a change of the file.
      if (error instanceof DamagedFileError) lookTaken = now
    } finally {
      isLooking = false
    }
  }

  /** Once, however often it is tried again. */
  function tell(reason: string) {
    if (reason !== toldReason)
      log.error(`${name}_not_taken_up`, { reason, in_force: `the ${name} from before` })
    toldReason = reason
  }

  async function compare(changed: Content | undefined) {
    if (changed === undefined)
      return log.error(`${name}_missing`, { file: path, in_force: `the ${name} from before` })
    if (isDeepStrictEqual(changed, content)) return
    // Its writer may not have come to that: nobody is to see what a crash could take back.
    await syncFolder(dirname(path), files)
    if (isClosed) return
    content = changed
    takeUp(changed)
  }

  return () => {
    isClosed = true
    clearInterval(timer)
  }
}

/** What differs when a file has been replaced. */
async function lookOf(path: string, files: FileSystem): Promise<string> {
  const found = await ifPresent(files.stat(path))
  return found === undefined ? 'missing' : `${found.ino} ${found.mtimeMs} ${found.size}`
}
