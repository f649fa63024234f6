import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { NO_INODES, systemCode } from '../errors.ts'

/**
 * The error of a call that could not make something, with the code NO_INODES if that is why: "no room" would send people to
 * look for bytes, which there may be. Any other error as it is.
 *
 * @param path What could not be made.
 */
export function namingInodes(error: unknown, path: string): unknown {
  if (systemCode(error) !== 'ENOSPC' || !(error instanceof Error) || hasInodes(dirname(path))) return error
  return Object.assign(error, { code: NO_INODES })
}

function hasInodes(folder: string): boolean {
  try {
    const { files, ffree } = statfsSync(folder)
    // Some file systems make inodes as they need them, and count none.
    return files === 0 || ffree > 0
  } catch {
    return true
  }
}
