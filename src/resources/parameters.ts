import { exportFormatNames } from '../exchange/export-formats.ts'
import { importFormatNames } from '../exchange/import-formats.ts'
import type { JsonSchema } from '../json-schema.ts'
import {
  FILTER_CHARACTERS_MAX,
  HISTORY_ENTRIES_DEFAULT,
  HISTORY_ENTRIES_MAX,
  LABELS_MAX,
  PAGE_RECORDS_MAX,
  POLL_WAIT_SECONDS_MAX,
} from '../limits.ts'
import type { Parameter } from '../openapi/operation.ts'
import { sortFields } from '../store/configuration-index.ts'
import { nameSchema } from '../store/field-schemas.ts'
import { recordFields } from '../store/fields.ts'
import { importModes } from '../store/import-mode.ts'
import { labelFilterSchema } from '../store/labels.ts'

/** What the OpenAPI document says of the parameters of paths and queries. */

const filterText: JsonSchema = { type: 'string', minLength: 1, maxLength: FILTER_CHARACTERS_MAX }

export const nameInPath: Parameter = {
  name: 'name',
  in: 'path',
  description: 'The name of the record, percent-encoded; a slash in it, too.',
  schema: nameSchema,
}

export const fileInPath: Parameter = {
  name: 'file',
  in: 'path',
  description: 'As the page names it; another name after each change of the file.',
  schema: { type: 'string', minLength: 1 },
}

export const filterParameters: readonly Parameter[] = [
  filter('prefix', 'Keeps records whose name begins so.'),
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

export const listParameters: readonly Parameter[] = [
  filter('q', 'Keeps records in whose name, hostname or username this occurs, in lower case or capitals.'),
  ...filterParameters,
  {
    name: 'sort',
    in: 'query',
    description: 'The order; with `-`, falling. By `id` without it.',
    schema: { type: 'string', enum: sortFields.flatMap((field) => [field, `-${field}`]) },
  },
  {
    name: 'page',
    in: 'query',
    description: 'From 0; only together with `per_page`. Digits without a leading zero.',
    schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  },
  {
    name: 'per_page',
    in: 'query',
    description: 'Records on a page; only together with `page`. Digits without a leading zero.',
    schema: { type: 'integer', minimum: 1, maximum: PAGE_RECORDS_MAX },
  },
]

export const preferWait: Parameter = {
  name: 'Prefer',
  in: 'header',
  description: `\`wait=N\`: while the tag of \`If-None-Match\` fits, the answer waits, for at most N seconds (RFC 7240 section 4.3). More than ${POLL_WAIT_SECONDS_MAX} counts as ${POLL_WAIT_SECONDS_MAX}.`,
  schema: { type: 'string', examples: ['wait=30'] },
}

export const eventParameters: readonly Parameter[] = [
  {
    name: 'since',
    in: 'query',
    description: 'The id of the last event that was seen, or the `ETag` of a list without its quotes.',
    schema: { type: 'string', minLength: 1 },
  },
  {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The same; it counts more than `since`.',
    schema: { type: 'string' },
  },
  ...filterParameters,
]

export const historyParameters: readonly Parameter[] = [
  nameInPath,
  {
    name: 'limit',
    in: 'query',
    description: `How many changes at most; ${HISTORY_ENTRIES_DEFAULT} without it. Digits without a leading zero.`,
    schema: { type: 'integer', minimum: 1, maximum: HISTORY_ENTRIES_MAX },
  },
]

export const exportParameters: readonly Parameter[] = [
  { ...choice('format', 'The format.', exportFormatNames), isRequired: true },
  choice('skip', '`1` leaves out records that the format cannot express.', ['0', '1']),
]

export const importParameters: readonly Parameter[] = [
  choice('format', 'The format of the body; by its type without it.', importFormatNames),
  choice('mode', '`replace` also removes records that are not in the body; `merge` without it.', importModes),
  choice('dry_run', '`1` tells what would change, and changes nothing.', ['0', '1']),
]

/** Of the question whether a server is ready. */
export const readsParameter: Parameter = choice(
  'reads',
  '`1` asks whether it answers reads; changes may be refused. Without it, both.',
  ['1'],
)

/** All filters that are given must hold. */
function filter(name: string, description: string, schema: JsonSchema = filterText): Parameter {
  return { name, in: 'query', description, schema }
}

function choice(name: string, description: string, choices: readonly string[]): Parameter {
  return { name, in: 'query', description, schema: { type: 'string', enum: choices } }
}
