import type { JsonSchema } from '../json-schema.ts'
import { FILTER_CHARACTERS_MAX, LABELS_MAX } from '../limits.ts'
import type { Parameter } from '../openapi/operation.ts'
import { nameSchema, recordFields } from '../store/fields.ts'
import { labelFilterSchema } from '../store/labels.ts'

/** What the OpenAPI document says of parameters that several resources have. */

const filterText: JsonSchema = { type: 'string', minLength: 1, maxLength: FILTER_CHARACTERS_MAX }

export const nameInPath: Parameter = {
  name: 'name',
  in: 'path',
  description: 'The name of the record, percent-encoded; a slash in it, too.',
  schema: nameSchema,
}

export const filterParameters: readonly Parameter[] = [
  filter('prefix', 'Keeps records whose name begins with this text.'),
  ...recordFields.map(({ name, schema }) =>
    filter(
      name,
      `Keeps records with exactly this ${name}.`,
      schema.type === 'string' ? filterText : { ...schema, description: 'Digits without a leading zero.' },
    ),
  ),
  {
    ...filter(
      'label',
      'Keeps records with this label: `KEY` with any value, `KEY=VALUE` with this one, `KEY=` with the empty one. May be repeated.',
      { type: 'array', minItems: 1, maxItems: LABELS_MAX, items: labelFilterSchema },
    ),
    isRepeated: true,
  },
]

/** All filters that are given must hold. */
export function filter(name: string, description: string, schema: JsonSchema = filterText): Parameter {
  return { name, in: 'query', description, schema }
}

export function choice(name: string, description: string, choices: readonly string[]): Parameter {
  return { name, in: 'query', description, schema: { type: 'string', enum: choices } }
}
