/** More of a line is not shown. */
const LINE_BYTES = 400
const NEWLINE = 10

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
  if (/^\s*(host|match|include)[\s=]/i.test(line)) return 'ssh-config'
  return /(^|[,;\t"])(name|hostname)($|[,;\t"])/i.test(line) ? 'csv' : undefined
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
  if (begins(0xff, 0xfe) || begins(0xfe, 0xff)) return 'It is text in UTF-16: save it as UTF-8.'
  return head.includes(0)
    ? 'It is no text: take a file of CSV, JSON, JSON lines, ssh_config, pg_service.conf or an inventory.'
    : undefined
}

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
