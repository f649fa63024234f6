import type { JsonSchema } from '../json-schema.ts'

interface Header {
  readonly description: string
  readonly schema: JsonSchema
}

const text: JsonSchema = { type: 'string' }
const count: JsonSchema = { type: 'integer', minimum: 0 }

/** The headers of answers, but for those that HTTP itself or every server has. */
export const headers = {
  'X-Request-Id': {
    description:
      'Names the request, in the log too; as sent, if that is 1 to 128 letters, digits and `_.:/+=@-`.',
    schema: text,
  },
  'Cache-Control': {
    description:
      '`no-cache, private` for what has an `ETag`; `no-store` for what no cache may keep. The console has its own.',
    schema: text,
  },
  ETag: {
    description:
      'A strong tag, for `If-None-Match` and `If-Match`. That of a record changes with the record alone, that of a list with any record.',
    schema: { type: 'string', pattern: '^"[!#-~]+"$' },
  },
  Link: {
    description:
      'The pages `first`, `prev`, `next` and `last`, where they exist, as relative references (RFC 8288).',
    schema: text,
  },
  Location: {
    description: 'The path of the record, or of the console.',
    schema: { type: 'string', format: 'uri-reference' },
  },
  'X-Total-Count': { description: 'The number of records, on all pages together.', schema: count },
  'X-Left-Out': {
    description: 'The number of records that the format cannot express.',
    schema: count,
  },
  'X-Left-Out-Groups': {
    description:
      'The first groups that the format cannot have, percent-encoded, with commas between them; their records are in the export. Only if there are such groups.',
    schema: text,
  },
  'X-Warning': {
    description:
      'What to know of records, such as a hop that is the name of no record; a warning of many of them once, with their number. Percent-encoded, with commas between them. At most 20, and only if there are such records.',
    schema: text,
  },
  'X-Warning-Count': {
    description:
      'The number of warnings, where there are any: of those in `X-Warning`, and of the records with others.',
    schema: count,
  },
  'Content-Disposition': { description: 'A name for the file.', schema: text },
  'Set-Cookie': { description: 'Sets the session cookie, or clears it.', schema: text },
  Pragma: {
    description: '`no-cache`, which RFC 6749 requires.',
    schema: { type: 'string', const: 'no-cache' },
  },
  'Preference-Applied': {
    description:
      'For how long the answer could wait, or how many records a change could affect; only after `Prefer`.',
    schema: { type: 'string', pattern: '^(?:wait|max-affected)=[0-9]+$' },
  },
  Vary: { description: '`Prefer`, after `Prefer`; `Accept-Encoding` for the console.', schema: text },
  'Content-Encoding': {
    description: '`gzip`, if `Accept-Encoding` takes it.',
    schema: { type: 'string', const: 'gzip' },
  },
  'Cross-Origin-Opener-Policy': {
    description: '`same-origin`: no page of another site has a hold of this one.',
    schema: { type: 'string', const: 'same-origin' },
  },
  'X-Accel-Buffering': { description: '`no`: nginx would keep events back.', schema: text },
  'Retry-After': { description: 'Seconds until a new attempt makes sense.', schema: count },
  'WWW-Authenticate': { description: 'The scheme of the credential to send.', schema: text },
} as const satisfies Record<string, Header>

export type HeaderName = keyof typeof headers

/** Headers of every answer that a route makes. */
export const headersOfAll: readonly HeaderName[] = ['X-Request-Id', 'Cache-Control']
