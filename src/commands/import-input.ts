import type { Readable } from 'node:stream'
import { ConnbookError, systemCode, UsageError } from '../errors.ts'
import { realFileSystem } from '../files/file-system.ts'

const PIECE_BYTES = 64 * 1024

/** The file cannot be read. */
export class InputUnreadableError extends ConnbookError {
  readonly code = 'input_unreadable'
}

/**
 * Reads a file, or standard input for `-`, piece by piece.
 *
 * @param context Its `input` is asked for only where it is read: that opens standard input.
 * @param take Gets each piece, which is only valid during the call, and the share of the whole that it ends, from 0 to 1;
 *   undefined when nobody knows how much there will be.
 * @throws {UsageError} {InputUnreadableError} Also throws what `take` does.
 */
export async function readInput(
  source: string,
  context: { readonly input: Readable },
  take: (piece: Buffer, share: number | undefined) => void,
): Promise<void> {
  if (source === '-') {
    for await (const piece of context.input) take(piece as Buffer, undefined)
    return
  }
  const file = await realFileSystem.open(source, 'r').catch((error: unknown) => {
    throw unreadable(source, error)
  })
  try {
    const found = await file.stat()
    if (found.isDirectory()) throw new UsageError(`Cannot read "${source}": it is a folder; name a file`)
    const buffer = Buffer.allocUnsafe(PIECE_BYTES)
    let position = 0
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES, position).catch((error: unknown) => {
        throw unreadable(source, error)
      })
      if (bytesRead === 0) return
      position += bytesRead
      take(buffer.subarray(0, bytesRead), found.size === 0 ? undefined : Math.min(1, position / found.size))
    }
  } finally {
    await file.close()
  }
}

function unreadable(source: string, error: unknown): unknown {
  const code = systemCode(error)
  if (code === undefined) return error
  return new InputUnreadableError(
    `Cannot read "${source}" (${code}); name a file that this account can read`,
    { cause: error },
  )
}
