/** More of a line is not shown. */
const LINE_CHARACTERS = 400

/** The API takes no larger file. */
export const FILE_BYTES_MAX = 32 * 1024 * 1024

/** Each format that the API imports, with its name for people and the type of its body. */
export const importFormats = {
  csv: { title: 'CSV', mediaType: 'text/csv' },
  json: { title: 'JSON', mediaType: 'application/json' },
  jsonl: { title: 'JSON lines', mediaType: 'application/x-ndjson' },
  'ssh-config': { title: 'ssh_config', mediaType: 'text/plain' },
  'pg-service': { title: 'pg_service.conf', mediaType: 'text/plain' },
  ansible: { title: 'ansible-inventory --list', mediaType: 'application/json' },
} as const
export type ImportFormat = keyof typeof importFormats

/** Enough to guess the format by. */
export const HEAD_BYTES = 1024

const formatsByName: readonly (readonly [RegExp, ImportFormat])[] = [
  [/\.csv$/i, 'csv'],
  [/\.json$/i, 'json'],
  [/\.(jsonl|ndjson)$/i, 'jsonl'],
  [/(^|\.)pg_service\.conf$/i, 'pg-service'],
  [/(^|[._-])(ssh_?)?config(\.txt)?$|\.conf$/i, 'ssh-config'],
]

/**
 * Guesses the format of a file: what its beginning shows counts more than the end of its name.
 *
 * @param head The first characters.
 */
export function guessFormat(name: string, head: string): ImportFormat {
  const byName = formatsByName.find(([end]) => end.test(name))?.[1]
  return formatIn(head.replace(/^\ufeff/, '')) ?? byName ?? 'csv'
}

/** Undefined if it could be several. */
function formatIn(head: string): ImportFormat | undefined {
  const text = head.trimStart()
  const line = text.split(/[\r\n]+/).find((each) => !/^\s*(#|$)/.test(each)) ?? ''
  if (/^\s*\[[^"{}[\],]+\]\s*$/.test(line)) return 'pg-service'
  if (text.startsWith('[')) return 'json'
  if (text.startsWith('{')) return formatOfObject(text)
  if (isOfSsh(line)) return 'ssh-config'
  return /(^|[,;\t"])(name|hostname)($|[,;\t"])/i.test(line) ? 'csv' : undefined
}

/** A header of CSV may begin with "Host", too. */
function isOfSsh(line: string): boolean {
  if (/^\s*match\s/i.test(line)) return true
  return /^\s*(host|include)[\s=]/i.test(line) && !/[,;|]|^\s*host[ _-]name\t/i.test(line)
}

/** One object of JSON has all its records in a list; JSON lines have one on each line. */
function formatOfObject(text: string): ImportFormat {
  if (/^\{\s*"configurations"/.test(text)) return 'json'
  if (/^\{\s*"_meta"/.test(text)) return 'ansible'
  return /^\{[^\r\n]*\}[ \t]*(\r?\n|$)/.test(text) || /^\{[^\r\n]*$/.test(text.slice(0, HEAD_BYTES))
    ? 'jsonl'
    : 'json'
}

/** Why a file that begins with these bytes cannot be imported; undefined for text. */
export function whyNoText(head: Uint8Array): string | undefined {
  const begins = (...bytes: number[]) => bytes.every((byte, index) => head[index] === byte)
  if (begins(0x50, 0x4b, 3, 4)) return 'It is a workbook or an archive: save the sheet as "CSV UTF-8".'
  if (begins(0x1f, 0x8b)) return 'It is packed with gzip: unpack it first.'
  return head.includes(0) && encodingOf(head) === 'utf-8'
    ? 'It is no text: take a file of CSV, JSON, JSON lines, ssh_config, pg_service.conf or an inventory.'
    : undefined
}

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

/** What to say about a file that the server does not take. */
export function tooLarge(bytes: number): string {
  const size = (bytes / 1024 / 1024).toFixed(1)
  return `The file is too large: it has ${size} MiB, and the server takes ${FILE_BYTES_MAX / 1024 / 1024} MiB at most, or less. Make it several files, or use the command on the host of the server.`
}

/** UTF-16 has a mark at its beginning. */
export function encodingOf(head: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : 'utf-8'
}

/**
 * Reads single lines of a file, piece by piece: the file may be large.
 *
 * @param wanted Numbers of lines, from 1.
 * @returns The beginning of each line that is there.
 */
export async function readLines(file: Blob, wanted: readonly number[]): Promise<Map<number, string>> {
  const found = new Map<number, string>()
  const numbers = new Set(wanted)
  const last = Math.max(0, ...wanted)
  const head = await file.slice(0, 2).arrayBuffer()
  const decoder = new TextDecoder(encodingOf(new Uint8Array(head)))
  let line = 1
  const reader = file.stream().getReader()
  while (line <= last) {
    const { done, value } = await reader.read()
    if (done) break
    const text = decoder.decode(value, { stream: true })
    for (let start = 0; start < text.length && line <= last; ) {
      const newline = text.indexOf('\n', start)
      const end = newline === -1 ? text.length : newline
      if (numbers.has(line)) {
        const before = found.get(line) ?? ''
        const room = LINE_CHARACTERS + 1 - before.length
        found.set(line, before + text.slice(start, Math.min(end, start + room)))
      }
      if (newline !== -1) line += 1
      start = end + 1
    }
  }
  await reader.cancel()
  return new Map(
    [...found].map(([number, text]) => {
      const isCut = text.length > LINE_CHARACTERS
      return [number, isCut ? `${text.slice(0, LINE_CHARACTERS)}…` : text.replace(/\r$/, '')]
    }),
  )
}
