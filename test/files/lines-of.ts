import type { OpenFile } from '../../src/files/file-system.ts'
import { forEachLine } from '../../src/files/lines.ts'

interface Line {
  length: number
  first: string
  offset: number
  isWhole: boolean
}

/** The lines found in a file made of these parts. They stay in memory: some are as long as a line may be. */
export async function linesOf(
  parts: readonly (string | Buffer)[],
  readBytesMax = Number.POSITIVE_INFINITY,
): Promise<Line[]> {
  const buffers = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
  const file = fileOf(buffers, readBytesMax)
  const found: Line[] = []
  await forEachLine(file, (line, offset, isWhole) => {
    found.push({ length: line.length, first: line.toString('latin1', 0, 1), offset, isWhole })
  })
  return found
}

/** A file of these parts, of which a read gives so many bytes at most. */
function fileOf(parts: readonly Buffer[], readBytesMax: number): Pick<OpenFile, 'read'> {
  return {
    async read(into, offset, length, position) {
      const wanted = Math.min(length, readBytesMax)
      let [bytesRead, start] = [0, 0]
      for (const part of parts) {
        const from = Math.max(0, position + bytesRead - start)
        if (from < part.length && bytesRead < wanted)
          bytesRead += part.copy(into, offset + bytesRead, from, from + wanted - bytesRead)
        start += part.length
      }
      return { bytesRead }
    },
  }
}
