import { exportFormats } from '../exchange/export-formats.ts'
import type { JsonSchema } from '../json-schema.ts'
import { BODY_BYTES_MAX, IMPORT_BYTES_MAX, IMPORT_ROW_CHARACTERS_MAX, IMPORT_ROWS_MAX } from '../limits.ts'
import type { Body, Content } from '../openapi/operation.ts'
import { refTo, type SchemaName } from '../openapi/schemas.ts'
import { formatsByType } from './import.ts'

/** What the OpenAPI document says of bodies, of requests and of answers. */

const text: JsonSchema = { type: 'string' }
const rows: JsonSchema = { type: 'array', maxItems: IMPORT_ROWS_MAX, items: refTo('NewConfiguration') }

export const importBody: Body = {
  content: {
    'application/json': {
      anyOf: [rows, { type: 'object', properties: { configurations: rows }, required: ['configurations'] }],
    },
    ...Object.fromEntries(Array.from(formatsByType.keys(), (type) => [type, text])),
  },
  description: `At most ${IMPORT_ROWS_MAX} rows of ${IMPORT_ROW_CHARACTERS_MAX} characters. With the parameter \`format\`, the type may be any.`,
  bytesMax: IMPORT_BYTES_MAX,
}

export const tokenBody: Body = {
  content: {
    'application/json': refTo('TokenRequest'),
    'application/x-www-form-urlencoded': refTo('TokenRequest'),
  },
  bytesMax: BODY_BYTES_MAX,
}

export const revocationBody: Body = {
  content: {
    'application/json': refTo('RevocationRequest'),
    'application/x-www-form-urlencoded': refTo('RevocationRequest'),
  },
  bytesMax: BODY_BYTES_MAX,
}

export const exportContent: Content = {
  ...Object.fromEntries(Object.values(exportFormats).map(({ mediaType }) => [essenceOf(mediaType), text])),
  [essenceOf(exportFormats.json.mediaType)]: refTo('Configurations'),
}

/** Bodies without a type, of `text/plain`, and of the type that `curl -d` sends are read as JSON, too. */
export function jsonBody(name: SchemaName): Body {
  return { content: json(name), bytesMax: BODY_BYTES_MAX, isJsonObject: true }
}

/** One of these. */
export function json(first: SchemaName, ...others: SchemaName[]): Content {
  const schema = others.length === 0 ? refTo(first) : { anyOf: [first, ...others].map(refTo) }
  return { 'application/json': schema }
}

/** A fixed text, or any. */
export function plainText(fixed?: string): Content {
  return { 'text/plain': fixed === undefined ? text : { type: 'string', const: fixed } }
}

function essenceOf(mediaType: string): string {
  return mediaType.split(';')[0] ?? mediaType
}
