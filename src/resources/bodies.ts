import type { JsonSchema } from '../json-schema.ts'
import { BODY_BYTES_MAX } from '../limits.ts'
import type { Body, Content } from '../openapi/operation.ts'
import { refTo, type SchemaName } from '../openapi/schemas.ts'

/** What the OpenAPI document says of bodies that several resources have. */

export const text: JsonSchema = { type: 'string' }

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
