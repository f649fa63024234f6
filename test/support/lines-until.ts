import { createInterface } from 'node:readline'

/** What a stream says, up to the first line that holds a text, or to its end. */
export async function linesUntil(stream: NodeJS.ReadableStream, text: string): Promise<string> {
  let said = ''
  for await (const line of createInterface(stream)) {
    said += `${line}\n`
    if (line.includes(text)) break
  }
  return said
}
