import type { Readable } from 'node:stream'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { readInputBytes } from '../files/input.ts'

/**
 * Reads a file or a pipe, or standard input for `-`, piece by piece, and unpacks gzip.
 *
 * @param context Its `input` is touched only for `-`, because touching it opens standard input.
 * @param take Gets each piece, and the share read so far, from 0 to 1; undefined when the size is unknown.
 * @throws {UsageError} {InputUnreadableError} {InputDamagedError} Also throws what `take` does.
 */
export async function readInput(
  source: string,
  context: { readonly input: Readable },
  take: (piece: Buffer, share: number | undefined) => void,
  files: FileSystem = realFileSystem,
): Promise<void> {
  let share: number | undefined
  const what = source === '-' ? 'standard input' : `"${source}"`
  const onShare = (found: number | undefined) => {
    share = found
  }
  for await (const piece of readInputBytes({ source, what, context, files, onShare })) take(piece, share)
}
