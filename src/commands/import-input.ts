import type { Readable } from 'node:stream'
import { ConnbookError, systemCode, UsageError } from '../errors.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'

const PIECE_BYTES = 64 * 1024

export class InputUnreadableError extends ConnbookError {
  readonly code = 'input_unreadable'
}

/**
 * Reads a file, or standard input for `-`, piece by piece.
 *
 * @param context Its `input` is touched only for `-`, because touching it opens standard input.
 * @param take Gets each piece, valid only during the call, and the share read so far, from 0 to 1; undefined when the
 *   size is unknown.
 * @throws {UsageError} {InputUnreadableError} Also throws what `take` does.
 */
export async function readInput(
  source: string,
  context: { readonly input: Readable },
  take: (piece: Buffer, share: number | undefined) => void,
  files: FileSystem = realFileSystem,
): Promise<void> {
  if (source === '-') {
    for await (const piece of context.input) take(piece as Buffer, undefined)
    return
  }
  const refuse = (error: unknown): never => {
    const code = systemCode(error)
    if (code === undefined) throw error
    const message = `Cannot read "${source}" (${code}); name a file that this account can read`
    throw new InputUnreadableError(message, { cause: error })
  }
  const file = await files.open(source, 'r').catch(refuse)
  try {
    const found = await file.stat()
    if (found.isDirectory()) throw new UsageError(`Cannot read "${source}": it is a folder; name a file`)
    const buffer = Buffer.allocUnsafe(PIECE_BYTES)
    let position = 0
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES, position).catch(refuse)
      if (bytesRead === 0) return
      position += bytesRead
      take(buffer.subarray(0, bytesRead), found.size === 0 ? undefined : Math.min(1, position / found.size))
    }
  } finally {
    await file.close()
  }
}
