import { LINE_BYTES_MAX } from '../limits.ts'
import type { OpenFile } from './file-system.ts'

/** The first read is smaller: it is enough for most files. */
const FIRST_CHUNK_BYTES = 64 * 1024
const CHUNK_BYTES = 1024 * 1024
const NEWLINE = 0x0a

/**
 * Reads a file line by line, in chunks.
 *
 * @param visit Gets each line without its newline, valid only during the call, and its offset in bytes. `isWhole` is
 *   false for a last line without a newline, and for a line above `bytesMax` (then `line` is empty).
 */
export async function forEachLine(
  file: Pick<OpenFile, 'read'>,
  visit: (line: Buffer, offset: number, isWhole: boolean) => void,
  bytesMax = LINE_BYTES_MAX,
): Promise<void> {
  let chunk = Buffer.allocUnsafe(FIRST_CHUNK_BYTES)
  let rest: Buffer[] = []
  let restBytes = 0
  let position = 0

  const takeLine = (end: Buffer): Buffer => {
    if (restBytes + end.length > bytesMax) return Buffer.alloc(0)
    return rest.length === 0 ? end : Buffer.concat([...rest, end])
  }
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, position)
    if (bytesRead === 0) break
    let start = 0
    for (;;) {
      const newline = chunk.indexOf(NEWLINE, start)
      if (newline === -1 || newline >= bytesRead) break
      const end = chunk.subarray(start, newline)
      visit(takeLine(end), position + start - restBytes, restBytes + end.length <= bytesMax)
      rest = []
      restBytes = 0
      start = newline + 1
    }
    restBytes += bytesRead - start
    if (restBytes <= bytesMax) rest.push(Buffer.from(chunk.subarray(start, bytesRead)))
    else rest = []
    position += bytesRead
    if (chunk.length < CHUNK_BYTES && bytesRead === chunk.length) chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  }
  if (restBytes > 0) visit(takeLine(Buffer.alloc(0)), position - restBytes, false)
}
