import { problemTypes } from '../error-types.ts'
import { separators } from '../exchange/import-options.ts'
import { FIRST_RECORDS, WARNINGS_MAX } from '../exchange/import-reader.ts'
import { importEncodings } from '../exchange/import-text.ts'
import { allScopes, scopeWords } from '../http/scope.ts'
import type { JsonSchema } from '../json-schema.ts'
import { CHANGES_SHOWN_MAX, FAULTS_MAX, IMPORT_NAMES_LISTED_MAX } from '../limits.ts'
import { MOMENTS_MAX } from '../metrics/recent-figures.ts'
import { recordFields } from '../store/fields.ts'
import { LABEL_KEYS_LISTED_MAX, LABEL_VALUES_LISTED_MAX } from '../store/label-counts.ts'
import { labelsPatchSchema, labelsSchema } from '../store/labels.ts'
import { accountSchemas } from './account-schemas.ts'
import { changedFields, historySchemas } from './history-schemas.ts'
import { named, object, words } from './schema-parts.ts'

const fieldSchemas = Object.fromEntries(recordFields.map(({ name, schema }) => [name, schema]))
/** What callers send: null stands for no value where a record may do without. */
const sentSchemas = Object.fromEntries(
  recordFields.map(({ name, schema, isRequired }) => [
    name,
    isRequired ? schema : { anyOf: [schema, { type: 'null' }] },
  ]),
)
const requiredFields = recordFields.filter(({ isRequired }) => isRequired).map(({ name }) => name)
const ignoredId: JsonSchema = { description: 'Ignored, so that a record that was read can be sent back.' }
const count: JsonSchema = { type: 'integer', minimum: 0 }
const figure: JsonSchema = { type: 'number', minimum: 0 }
const time: JsonSchema = { type: 'string', format: 'date-time' }
const names: JsonSchema = {
  type: 'array',
  maxItems: IMPORT_NAMES_LISTED_MAX,
  items: { type: 'string' },
}
const shownChanges: JsonSchema = {
  type: 'array',
  maxItems: CHANGES_SHOWN_MAX,
  items: object({ name: { type: 'string' }, changed: changedFields }),
  description: 'The first that would be modified, by id.',
}
const warnings: JsonSchema = {
  type: 'array',
  maxItems: FAULTS_MAX + WARNINGS_MAX,
  items: named('ImportWarning'),
}
const counts = { added: count, modified: count, removed: count, unchanged: count }

/** The named schemas of the document. */
export const schemas = {
  Configuration: object(
    {
      id: {
        type: 'integer',
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Given by connbook; never changes, and is never used again.',
        examples: [1],
      },
      ...fieldSchemas,
      labels: { ...labelsSchema, minProperties: 1 },
    },
    { required: ['id', ...requiredFields], description: 'A record. Its members always stand in this order.' },
  ),
  NewConfiguration: object(
    { id: ignoredId, ...sentSchemas, labels: labelsSchema },
    { required: requiredFields, description: 'A record to add.' },
  ),
  ConfigurationReplacement: object(
    { id: ignoredId, ...sentSchemas, labels: labelsSchema },
    {
      required: requiredFields.filter((name) => name !== 'name'),
      description: 'A whole record; `name`, if given, is that of the path.',
    },
  ),
  ConfigurationPatch: object(
    { id: ignoredId, ...sentSchemas, labels: labelsPatchSchema },
    {
      required: [],
      description:
        'The fields to change; the others keep their values. `null` is not a value of a required field.',
    },
  ),
  Configurations: object({ configurations: { type: 'array', items: named('Configuration') } }),
  OneConfiguration: object({
    configurations: { type: 'array', minItems: 1, maxItems: 1, items: named('Configuration') },
  }),
  Login: {
    type: 'object',
    description: 'The user by `username` or `name`; both, if they are the same. Other members are ignored.',
    properties: {
      username: { type: 'string' },
      name: { type: 'string' },
      password: { type: 'string', format: 'password' },
    },
    required: ['password'],
    anyOf: [{ required: ['username'] }, { required: ['name'] }],
  },
  TokenRequest: {
    type: 'object',
    description: 'Id and secret here or by HTTP Basic, not both. Other members are ignored.',
    properties: {
      client_id: { type: 'string' },
      client_secret: { type: 'string', format: 'password' },
      grant_type: { type: 'string', const: 'client_credentials' },
      scope: {
        type: 'string',
        description:
          'What the token may do; without it, what the client may do, but for `admin`. Each of `read`, `write` and `admin` brings along those before it.',
        pattern: '^(?:(?:read|write|admin)(?: (?:read|write|admin))*)?$',
        examples: ['read'],
      },
    },
  },
  Token: object({
    access_token: { type: 'string' },
    token_type: { type: 'string', const: 'Bearer' },
    expires_in: { type: 'integer', minimum: 1, description: 'Seconds.' },
    scope: { type: 'string', enum: [...allScopes] },
  }),
  RevocationRequest: {
    type: 'object',
    description: 'Id and secret here or by HTTP Basic, not both. Other members are ignored.',
    properties: {
      client_id: { type: 'string' },
      client_secret: { type: 'string', format: 'password' },
      token: { type: 'string', minLength: 1 },
      token_type_hint: { type: 'string' },
    },
    required: ['token'],
  },
  AuthorizationServer: object({
    issuer: { type: 'string', format: 'uri' },
    token_endpoint: { type: 'string', format: 'uri' },
    revocation_endpoint: { type: 'string', format: 'uri' },
    grant_types_supported: words('client_credentials'),
    token_endpoint_auth_methods_supported: words('client_secret_basic', 'client_secret_post'),
    scopes_supported: words(...scopeWords),
    response_types_supported: { type: 'array', maxItems: 0, items: { type: 'string' } },
  }),
  ...accountSchemas,
  TokenError: object(
    {
      error: {
        type: 'string',
        enum: [
          'invalid_request',
          'invalid_client',
          'invalid_scope',
          'unsupported_grant_type',
          'temporarily_unavailable',
          'server_error',
        ],
      },
      error_description: { type: 'string', pattern: '^[ !#-[\\]-~]*$' },
    },
    { description: 'RFC 6749 section 5.2.' },
  ),
  ImportResult: object(
    { ...counts, warnings },
    { description: 'Numbers of records.', required: Object.keys(counts) },
  ),
  ImportTrial: object(
    {
      dry_run: { type: 'boolean', const: true },
      ...counts,
      names: object({ added: names, modified: names, removed: names }),
      changed: shownChanges,
      read: named('ImportForm'),
      warnings,
    },
    {
      description: 'What an import would do. `names` has the first names of each kind.',
      required: ['dry_run', ...Object.keys(counts), 'names', 'changed', 'read'],
    },
  ),
  LabelCounts: object({
    labels: {
      type: 'array',
      maxItems: LABEL_KEYS_LISTED_MAX,
      description: 'The most frequent first.',
      items: object({
        key: { type: 'string' },
        count: { ...count, description: 'Records with the label.' },
        values: {
          type: 'array',
          maxItems: LABEL_VALUES_LISTED_MAX,
          description: 'The most frequent first. Of `group`, each member of its list.',
          items: object({ value: { type: 'string' }, count }),
        },
        more: { ...count, description: 'Other values.' },
      }),
    },
    more: { ...count, description: 'Other keys.' },
  }),
  ManyChanged: object(
    { matched: count, modified: count, unchanged: count },
    { description: 'Numbers of records: those that the filters kept, and what became of them.' },
  ),
  ManyRemoved: object({ matched: count, removed: count }, { description: 'Numbers of records.' }),
  ManyChangedTrial: object(
    {
      dry_run: { type: 'boolean', const: true },
      matched: count,
      modified: count,
      unchanged: count,
      changed: shownChanges,
    },
    { description: 'What a change of many records would do.' },
  ),
  ManyRemovedTrial: object(
    {
      dry_run: { type: 'boolean', const: true },
      matched: count,
      removed: count,
      changed: {
        type: 'array',
        maxItems: CHANGES_SHOWN_MAX,
        items: object({ name: { type: 'string' }, record: { type: 'object' } }),
        description: 'The first that would be removed, by id.',
      },
    },
    { description: 'What a removal of many records would do.' },
  ),
  ImportForm: object(
    {
      encoding: { type: 'string', enum: [...importEncodings] },
      separator: { type: 'string', enum: [...separators] },
      columns: {
        type: 'array',
        items: object(
          {
            column: { type: 'string' },
            becomes: {
              type: ['string', 'null'],
              description:
                'A field, `labels` or `label.KEY`; `null` for left out. In an error, it is missing where `map` or `extra` must say it.',
            },
            secret: {
              type: 'boolean',
              const: true,
              description: 'Left out because its name says a secret.',
            },
          },
          { required: ['column'] },
        ),
      },
      first: {
        type: 'array',
        maxItems: FIRST_RECORDS,
        items: named('NewConfiguration'),
        description: 'The first records without an error.',
      },
    },
    {
      description: 'How the body was read; `separator` and `columns` only of CSV.',
      required: ['encoding', 'first'],
    },
  ),
  ImportWarning: object(
    {
      line: { type: 'integer', minimum: 1 },
      name: { type: 'string' },
      detail: { type: 'string' },
    },
    { description: 'Something that was not imported, and is no fault.', required: ['detail'] },
  ),
  ...historySchemas,
  Status: object(
    {
      version: { type: 'string' },
      ready: { type: 'boolean' },
      reason: { type: 'string', description: 'Why it is not ready.' },
      writable: { type: 'boolean' },
      started: time,
      last_backup: time,
      certificate_end: time,
      disk_free_bytes: count,
      moment_seconds: { type: 'integer', minimum: 1, description: 'Seconds between two moments.' },
      moments: { type: 'array', maxItems: MOMENTS_MAX, items: named('Moment'), description: 'Oldest first.' },
    },
    { required: ['version', 'ready', 'writable', 'started', 'moment_seconds', 'moments'] },
  ),
  Moment: object(
    {
      time,
      requests: {
        type: 'object',
        description: 'Answers a second since the moment before, by status.',
        additionalProperties: figure,
      },
      answers: named('Quantiles'),
      routes: {
        type: 'object',
        description: 'As `answers`, by the pattern of the path.',
        additionalProperties: named('Quantiles'),
      },
      syncs: named('Quantiles'),
      event_loop: named('Quantiles'),
      memory_bytes: count,
      heap_bytes: count,
      records: count,
      journal_bytes: count,
      connections: count,
      event_streams: count,
      waiting_polls: count,
    },
    {
      required: ['time'],
      description: 'How the server did. `answers` and `syncs` are of the time since the moment before.',
    },
  ),
  Quantiles: object({ p50: figure, p99: figure }, { description: 'In seconds.' }),
  Health: object({ status: { type: 'string', enum: ['ok', 'ready'] } }),
  Fault: object(
    {
      field: { type: 'string', description: 'The member, parameter or column.' },
      detail: { type: 'string' },
      line: { type: 'integer', minimum: 1, description: 'Line of an import.' },
      lines: {
        type: 'array',
        items: { type: 'integer', minimum: 1 },
        description: 'The first of several lines with the same error.',
      },
      more: {
        type: 'integer',
        minimum: 1,
        description: 'How many such lines, or records, there are besides.',
      },
      name: { type: 'string', description: 'Name of the record with the error, if there are many.' },
    },
    { required: ['field', 'detail'] },
  ),
  Problem: object(
    {
      type: {
        type: 'string',
        description: 'Tells problems apart; the rest is for people.',
        enum: Object.keys(problemTypes).map(problemUrn),
      },
      title: { type: 'string' },
      status: { type: 'integer', minimum: 400, maximum: 599 },
      detail: { type: 'string' },
      errors: { type: 'array', minItems: 1, maxItems: FAULTS_MAX, items: named('Fault') },
      read: named('ImportForm'),
    },
    {
      required: ['type', 'title', 'status', 'detail'],
      description:
        'RFC 9457. `errors` has the first faults of an invalid input; `read` is there for the body of an import.',
    },
  ),
} as const satisfies Record<string, JsonSchema>

export type SchemaName = keyof typeof schemas

export function refTo(name: SchemaName): JsonSchema {
  return named(name)
}

export function problemUrn(code: string): string {
  return `urn:connbook:problem:${code}`
}
