/** More of a line is not shown. */
const LINE_BYTES = 400
const NEWLINE = 10

/**
 * Reads single lines of a file, piece by piece: the file may be large.
 *
 * @param wanted Numbers of lines, from 1.
 * @returns The beginning of each line that is there.
 */
export async function readLines(file: Blob, wanted: readonly number[]): Promise<Map<number, string>> {
  const found = new Map<number, number[]>()
  const numbers = new Set(wanted)
  const last = Math.max(0, ...wanted)
  let line = 1
  const reader = file.stream().getReader()
  while (line <= last) {
    const { done, value } = await reader.read()
    if (done) break
    for (let start = 0; start < value.length && line <= last; ) {
      const newline = value.indexOf(NEWLINE, start)
      const end = newline === -1 ? value.length : newline
      if (numbers.has(line)) {
        const bytes = found.get(line) ?? []
        found.set(line, bytes)
        bytes.push(...value.subarray(start, Math.min(end, start + LINE_BYTES - bytes.length)))
      }
      if (newline !== -1) line += 1
      start = end + 1
    }
  }
  await reader.cancel()
  const decoder = new TextDecoder()
  return new Map(
    [...found].map(([number, bytes]) => [
      number,
      decoder.decode(Uint8Array.from(bytes)).replace(/\r$/, '') + (bytes.length < LINE_BYTES ? '' : '…'),
    ]),
  )
}
