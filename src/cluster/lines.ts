/** The lines of a text that arrives in pieces, split anywhere; the last line need not end. */
export async function* readLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let begun: Buffer[] = []
  for await (const piece of pieces) {
    let rest = piece
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      begun.push(rest.subarray(0, end))
      yield Buffer.concat(begun).toString()
      begun = []
      rest = rest.subarray(end + 1)
    }
    if (rest.length > 0) begun.push(rest)
  }
  if (begun.length > 0) yield Buffer.concat(begun).toString()
}

const LINE_FEED = 0x0a
