import type { JsonSchema } from '../json-schema.ts'
import {
  FILTER_CHARACTERS_MAX,
  FILTER_IDS_MAX,
  FILTER_LABELS_MAX,
  FILTER_WORDS_MAX,
  POLL_WAIT_SECONDS_MAX,
} from '../limits.ts'
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

export const preferWait: Parameter = {
  name: 'Prefer',
  in: 'header',
  description: `\`wait=N\`: while the tag of \`If-None-Match\` fits, the answer waits, for at most N seconds (RFC 7240 section 4.3). More than ${POLL_WAIT_SECONDS_MAX} counts as ${POLL_WAIT_SECONDS_MAX}.`,
  schema: { type: 'string', examples: ['wait=30'] },
}

/** The parameter `q`, which event streams do not have. */
export const searchParameter = filter(
  'q',
  `Keeps records in whose name, hostname, username or values of labels this occurs, in lower case or capitals. Of several words with white space between them, at most ${FILTER_WORDS_MAX}, each must occur.`,
  { ...filterText, pattern: '\\S' },
)

/** The filters of lists and event streams. All that are given must hold. */
export const filterParameters: readonly Parameter[] = [
  filter('prefix', 'Keeps records whose name begins with this text.'),
  ...recordFields.map(({ name, schema }) =>
    filter(
      name,
      `Keeps records with exactly this ${name}.`,
      schema.type === 'string' ? filterText : { ...schema, description: 'Digits without a leading zero.' },
    ),
  ),
  filter('id', `Keeps the records with these ids, with commas between them: at most ${FILTER_IDS_MAX}.`, {
    type: 'string',
    pattern: '^[1-9][0-9]{0,15}(?:,[1-9][0-9]{0,15})*$',
    examples: ['7', '7,8,9'],
  }),
  {
    ...filter(
      'label',
      'Keeps records with this label: `KEY` with any value, `KEY=VALUE` with this one, `KEY=` with the empty one. `!KEY` and `KEY!=VALUE` keep the records without it. May be repeated: of those with the same key one must hold, but each negative form must. Of `group`, a value is one of its members, or all of its text.',
      { type: 'array', minItems: 1, maxItems: FILTER_LABELS_MAX, items: labelFilterSchema },
    ),
    isRepeated: true,
  },
]

export function filter(name: string, description: string, schema: JsonSchema = filterText): Parameter {
  return { name, in: 'query', description, schema }
}

export function choice(name: string, description: string, choices: readonly string[]): Parameter {
  return { name, in: 'query', description, schema: { type: 'string', enum: choices } }
}
