import { explain, Refusal, Unreachable } from './api.ts'

/** The API takes no larger file. */
export const FILE_BYTES_MAX = 32 * 1024 * 1024

const KEPT = 'The file and what you have chosen stay: one more press tries again.'

/** Why a file cannot be imported or can no longer be read; undefined if it can. */
export async function whyUnreadable(file: Blob): Promise<string | undefined> {
  if (file.size === 0) return 'The file is empty: choose another one.'
  if (file.size > FILE_BYTES_MAX) return tooLarge(file.size)
  try {
    // The browser looks whether it is still the file that was chosen.
    await file.slice(0, 1).arrayBuffer()
    return undefined
  } catch {
    return 'The file cannot be read: it has changed or gone since you chose it, or it is a folder. Choose it again.'
  }
}

/**
 * What to say about an import that failed.
 *
 * @param isSent Whether all of the file had been sent for an import that changes records.
 */
export function explainImport(error: unknown, bytes: number, isSent: boolean): string {
  if (error instanceof Unreachable) {
    return isSent
      ? `The server went away before it answered: it has imported all of the file or nothing. "Check" shows which: after an import, everything is unchanged.`
      : `Cannot reach the server; nothing has changed. ${KEPT}`
  }
  if (!(error instanceof Refusal)) return `${explain(error)} ${KEPT}`
  if (error.status === 413) return tooLarge(bytes)
  return error.faults.length > 0 ? explain(error) : `${explain(error)} ${KEPT}`
}

function tooLarge(bytes: number): string {
  const size = (bytes / 1024 / 1024).toFixed(1)
  return `The file is too large: it has ${size} MiB, and the server takes ${FILE_BYTES_MAX / 1024 / 1024} MiB at most, or less. Make it several files, or use the command on the host of the server.`
}
