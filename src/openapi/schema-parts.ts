import type { JsonSchema } from '../json-schema.ts'

/** Refers to a schema of the document by its name. */
export function named(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

/** An array of some of these words. */
export function words(...known: string[]): JsonSchema {
  return { type: 'array', items: { type: 'string', enum: known } }
}

/** An object with these members and no others; all of them are required if nothing else is said. */
export function object(
  properties: Readonly<Record<string, JsonSchema>>,
  { required = Object.keys(properties), description }: { required?: string[]; description?: string } = {},
): JsonSchema {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  }
}
