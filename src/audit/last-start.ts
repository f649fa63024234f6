import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import { forEachTrailLine } from './trail-lines.ts'

/** Where the server that a folder had last was reached. */
export interface LastStart {
  readonly url: string
  /** The path of its Unix socket; undefined for TCP. */
  readonly socket: string | undefined
}

/** Reads the last start from the audit trail; undefined if no line names one with its URL, or a file cannot be read. */
export async function findLastStart(folder: DataPaths): Promise<LastStart | undefined> {
  let last: LastStart | undefined
  try {
    for (const name of auditFiles) {
      await forEachTrailLine(folder, name, '"event":"started"', ({ event, url, socket }) => {
        if (event !== 'started' || typeof url !== 'string') return
        last = { url, socket: typeof socket === 'string' ? socket : undefined }
      })
      // The first file is the newest.
      if (last !== undefined) return last
    }
  } catch {
    return undefined
  }
  return last
}
